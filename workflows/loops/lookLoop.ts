import {
  CancellationScope,
  condition,
  isCancellation,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { lookSignal } from '../definitions';
import { checkOwnScope } from '../ownScope';
import type { LookAnswer } from '../planning/lookDetails';
import { LookStory } from '../planning/lookDetails';

/**
 * Most looks per run, besides the server's suggestion to continue as new. After kills a worker
 * replays the whole history within one workflow task, beside those of all leaders: a notifier with
 * 1,200 events did not end its replay in time, and callbacks stood still for 40 s.
 */
const LOOKS_PER_RUN = 100;
/** Size from which on a run continues as new as soon as it can. */
const LARGE = { events: 2_000, bytes: 4_000_000 };
/**
 * Size from which on a look in progress is told to end: a server takes 10,000 signals for a run,
 * and ends one of 51,200 events or 50 MB.
 */
const TOO_LARGE = { events: 6_000, bytes: 12_000_000 };
/** Size from which on nothing is waited for any more: the next run repeats what is in progress. */
const FULL = { events: 8_000, bytes: 20_000_000 };

/** Work that a run does beside its looks. */
export interface SideWork {
  /** Says whether no part of it is in progress, or left to do. */
  isAtRest(): boolean;
  /** Begins nothing further: the run is about to continue as new. */
  stop(): void;
  /** Says whether the run may continue as new. `isFull`: the history has hardly any room left. */
  mayContinueAsNew(isFull: boolean): boolean;
}
const NO_SIDE_WORK: SideWork = { isAtRest: () => true, stop: () => undefined, mayContinueAsNew: () => true };

/**
 * Runs a workflow that works off something in the store: it looks, waits until the next thing is
 * due or a `look` signal comes, and ends when nothing is left and no signal came since the last
 * look began.
 *
 * No wake-up is lost: the maker of work commits it, then signals (with start). The flag is lowered
 * *before* the look, so a signal that comes while it runs means one more look; and between reading
 * the flag and returning there is no await, so a later signal either makes the server refuse the
 * close and run this workflow task again with it, or finds the run closed and starts the next one.
 * The same holds for continue-as-new: the next run begins with a look.
 *
 * `sideWork`: work in this run that its end would break off, and that is waited for before.
 */
export const lookUntilIdle = async (
  look: () => Promise<LookAnswer>,
  again: () => Promise<never>,
  { title, waitsFor }: { title: string; waitsFor: string },
  sideWork = NO_SIDE_WORK,
): Promise<void> => {
  checkOwnScope();
  let woken = false;
  const story = new LookStory(title);
  const describe = (next: string): void => setCurrentDetails(story.details(next, Date.now()));
  setHandler(lookSignal, () => void (woken = true), { description: 'There is something new in the store' });
  for (let looks = 0; ; looks++) {
    if (looks >= LOOKS_PER_RUN || isLarge()) {
      sideWork.stop();
      const mayContinueAsNew = (): boolean => sideWork.mayContinueAsNew(exceeds(FULL));
      while (!mayContinueAsNew()) await condition(mayContinueAsNew);
      await again(); // no await between the last check and the end of the run
    }
    woken = false;
    const { dueInMs, ...did } = await whileItFits(look);
    if ('did' in did) story.add(did, Date.now());
    describe(dueInMs === null ? 'nothing is due' : 'looks');
    if (woken || dueInMs === 0) continue;
    if (dueInMs === null) {
      const mayGoOn = (): boolean => woken || sideWork.isAtRest() || isLarge();
      while (!mayGoOn()) await condition(mayGoOn);
      if (!woken && sideWork.isAtRest()) return;
      continue;
    }
    describe(`${waitsFor} in ${dueInMs} ms`);
    await condition(() => woken || isLarge(), dueInMs, { summary: waitsFor });
  }
};

const isLarge = (): boolean => workflowInfo().continueAsNewSuggested || exceeds(LARGE);
const exceeds = ({ events, bytes }: typeof LARGE): boolean =>
  workflowInfo().historyLength >= events || workflowInfo().historySize >= bytes;

/**
 * Cancels a look for which the history has no more room: a look may take hours, and signals may
 * fill the history meanwhile. What is still to be done is in the store.
 */
const whileItFits = async (look: () => Promise<LookAnswer>): Promise<LookAnswer | { dueInMs: 0 }> => {
  const scope = new CancellationScope();
  let over = false;
  void condition(() => over || exceeds(TOO_LARGE)).then(
    () => over || scope.cancel(),
    () => undefined, // the run was cancelled, and with it the look
  );
  const full = condition(() => over || exceeds(FULL)).then(() => ({ dueInMs: 0 as const }));
  try {
    return await Promise.race([scope.run(look), full]);
  } catch (error) {
    if (isCancellation(error) && exceeds(TOO_LARGE)) return { dueInMs: 0 };
    throw error;
  } finally {
    over = true;
  }
};
