/** What a run shows in which nothing went wrong. */
export const NOTHING = {
  lost: 0,
  stuck: 0,
  failed: 0,
  inversions: 0,
  doubleEffects: 0,
  strangers: 0,
  overlaps: 0,
  staleCalls: 0,
  staleAccepted: 0,
  sharedEpochs: 0,
  thawedSends: 0,
};
