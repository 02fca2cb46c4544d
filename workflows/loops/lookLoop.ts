import { CancellationScope, condition, isCancellation, setHandler, workflowInfo } from '@temporalio/workflow';
import { lookSignal } from '../definitions';
import { showDetails } from './details';
import { checkOwnScope } from '../ownScope';
import type { LookAnswer } from '../planning/lookDetails';
import { LookStory } from '../planning/lookDetails';
import type { ShownStart } from '../planning/webUi/starts';

/**
 * Looks after which a run continues as new, if the server does not suggest it before. After a kill,
 * another worker replays the whole history within one workflow task, together with those of all
 * leaders: a notifier with 1,200 events did not finish its replay in time, and callbacks were
 * delayed by 40 s.
 */
const LOOKS_PER_RUN = 100;
/** Size of the history from which on a run continues as new as soon as it can. */
const LARGE = { events: 2_000, bytes: 4_000_000 };
/**
 * Size of the history from which on a look in progress is cancelled. A server accepts 10,000
 * signals per run, and ends a run of 51,200 events or 50 MB.
 */
const TOO_LARGE = { events: 6_000, bytes: 12_000_000 };
/**
 * Size of the history from which on the run waits for nothing any more: the next run repeats what
 * is in progress.
 */
const FULL = { events: 8_000, bytes: 20_000_000 };

interface Loop {
  title: string;
  waitsFor: string;
  start: ShownStart;
  /** Events of the history from which on a run continues as new as soon as it can. */
  mostEvents?: number | undefined;
}

/** Work that a run does besides its looks. */
export interface SideWork {
  /** Says whether no part of the work is in progress or left to do. */
  isAtRest(): boolean;
  /** Starts no further part: the run is about to continue as new. */
  stop(): void;
  /** Says whether the run may continue as new. `isFull`: the history has almost no room left. */
  mayContinueAsNew(isFull: boolean): boolean;
}
const NO_SIDE_WORK: SideWork = { isAtRest: () => true, stop: () => undefined, mayContinueAsNew: () => true };

/**
 * Runs a workflow that works through something in the store. It looks, then waits until the next
 * thing is due or a `look` signal arrives. It ends when nothing is left and no signal has arrived
 * since the last look began.
 *
 * No wake is lost. The producer of work commits the work first, and then signals (with start). The
 * flag is lowered *before* the look, so a signal that arrives during the look causes one more look.
 * Between reading the flag and returning there is no await, so a later signal either makes the
 * server refuse the close and repeat this workflow task with the signal, or finds the run closed
 * and starts the next one. The same holds for continue-as-new: the next run begins with a look.
 *
 * `sideWork` is work in this run that the end of the run would interrupt, so that it is waited for.
 */
export const lookUntilIdle = async (
  look: () => Promise<LookAnswer>,
  again: () => Promise<never>,
  { title, waitsFor, start, mostEvents = LARGE.events }: Loop,
  sideWork = NO_SIDE_WORK,
): Promise<void> => {
  checkOwnScope();
  const isLarge = (): boolean =>
    workflowInfo().continueAsNewSuggested || exceeds({ events: mostEvents, bytes: LARGE.bytes });
  let woken = false;
  const story = new LookStory(title);
  const describe = (next: string): void => showDetails(story.details(next, Date.now()), start);
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

const exceeds = ({ events, bytes }: typeof LARGE): boolean =>
  workflowInfo().historyLength >= events || workflowInfo().historySize >= bytes;

/**
 * Cancels a look once the history has no room left for it: a look may take hours, and signals may
 * fill the history meanwhile. What is left to do is in the store.
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
