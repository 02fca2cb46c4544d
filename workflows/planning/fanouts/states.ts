/**
 * ```
 *  open ──seal, items left──▶ sealed ──last ack──▶ complete ──kept for a while──▶ deleted
 *   │ └──────────seal, nothing left──────────────────▲                              ▲
 *   └──idle──▶ expired ◀──idle (another interval)── sealed                          │
 *                 └──────────its event delivered, kept for a while──────────────────┘
 * ```
 * `deleted`: the rows of the fan-out are being deleted, some at a time, and no reader sees it any
 * more.
 */
export const FANOUT_STATES = { open: 0, sealed: 1, complete: 2, expired: 3, deleted: 4 } as const;
export type FanoutState = Exclude<keyof typeof FANOUT_STATES, 'deleted'>;

const NAMES: readonly FanoutState[] = ['open', 'sealed', 'complete', 'expired'];
export const fanoutStateName = (code: number): FanoutState => {
  const name = NAMES[code];
  if (name === undefined) throw new Error(`fan-out state: expected one of 0 to 3, got ${code}`);
  return name;
};
/** Says whether nothing changes the fan-out any more. */
export const isFanoutOver = (state: FanoutState): boolean => state === 'complete' || state === 'expired';
