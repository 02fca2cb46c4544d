import {
  CancellationScope,
  condition,
  isCancellation,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { WorkflowDefinitionOptionsOrGetter } from '@temporalio/common';
import { lookSignal } from './definitions';
import { checkOwnScope } from './ownScope';

/** Looks of one run, beyond the server's own suggestion to continue as new. */
const LOOKS_PER_RUN = 500;
/** From here on a run continues as new as soon as it can. */
const LARGE = { events: 4_096, bytes: 4_000_000 };
/**
 * From here on a look that goes on is told to end: a server takes 10,000 signals for a run, and
 * ends one of 51,200 events or 50 MB.
 */
const TOO_LARGE = { events: 6_000, bytes: 12_000_000 };
/** From here on nothing is waited for any more: what goes on is repeated by the next run. */
const FULL = { events: 8_000, bytes: 20_000_000 };

/** Work of the same run beside its looks. */
export interface Beside {
  /** Nothing of it is under way, or left to do. */
  isAtRest(): boolean;
  /** The run is about to continue as new: what it need not do itself is left to the next one. */
  leave?(): void;
  /** Left out: once at rest. `isFull`: the history has hardly any room left. */
  mayLeave?(isFull: boolean): boolean;
}

/**
 * The loop of a workflow that works off something in the store: looks, waits until the next thing
 * is due or somebody says look, and ends when nothing is left and nobody said look since the last
 * look began.
 *
 * No wake-up is lost: whoever makes work commits it, then signals (with start). The flag is lowered
 * *before* the look, so a signal that comes while it runs means one more look; and between reading
 * the flag and returning there is no await, so a signal that comes after is either refused together
 * with the close by the server, which runs this workflow task again with it, or finds the run
 * closed and starts the next one. The same holds for continue-as-new: the next run begins with a
 * look.
 *
 * `beside`: something else goes on in this run, which its end would break off: waited for before
 * that.
 */
export const lookUntilIdle = async (
  look: () => Promise<{ dueInMs: number | null }>,
  again: () => Promise<never>,
  waitsFor: string,
  beside: Beside = { isAtRest: () => true },
): Promise<void> => {
  checkOwnScope();
  let woken = false;
  setHandler(lookSignal, () => void (woken = true), { description: 'There is something new in the store' });
  for (let looks = 0; ; looks++) {
    if (looks >= LOOKS_PER_RUN || isLarge()) {
      beside.leave?.();
      const mayLeave = (): boolean => beside.mayLeave?.(exceeds(FULL)) ?? beside.isAtRest();
      while (!mayLeave()) await condition(mayLeave);
      await again(); // no await between the last check and the end of the run
    }
    woken = false;
    const { dueInMs } = await whileItFits(look);
    if (woken || dueInMs === 0) continue;
    if (dueInMs === null) {
      const mayGoOn = (): boolean => woken || beside.isAtRest() || isLarge();
      while (!mayGoOn()) await condition(mayGoOn);
      if (!woken && beside.isAtRest()) return;
      continue;
    }
    setCurrentDetails(`As of ${new Date().toISOString()}: ${waitsFor} in ${dueInMs} ms`);
    await condition(() => woken || isLarge(), dueInMs, { summary: waitsFor });
  }
};

const isLarge = (): boolean => workflowInfo().continueAsNewSuggested || exceeds(LARGE);
const exceeds = ({ events, bytes }: typeof LARGE): boolean =>
  workflowInfo().historyLength >= events || workflowInfo().historySize >= bytes;

/**
 * A look may take hours; what comes meanwhile may fill the history. Then it is cancelled: what is
 * still to be done is in the store.
 */
const whileItFits = async (look: () => Promise<{ dueInMs: number | null }>): Promise<{ dueInMs: number | null }> => {
  const scope = new CancellationScope();
  let over = false;
  void condition(() => over || exceeds(TOO_LARGE)).then(
    () => over || scope.cancel(),
    () => undefined, // the run was cancelled, and with it the look
  );
  const full = condition(() => over || exceeds(FULL)).then(() => ({ dueInMs: 0 }));
  try {
    return await Promise.race([scope.run(look), full]);
  } catch (error) {
    if (isCancellation(error) && exceeds(TOO_LARGE)) return { dueInMs: 0 };
    throw error;
  } finally {
    over = true;
  }
};

/**
 * For workflows of which there is one, or that wait for days: the workers of the version that began
 * the run may be gone by then, so it goes on with the current one. A server refuses a behaviour
 * from a worker that is not versioned.
 *
 * Whatever their code throws ends the run, and so does a change of it without `patched`: all that
 * they work on is in the store, so the sweeper's next run does better than a workflow task that is
 * repeated for ever.
 */
export const upgradedWhileWaiting: WorkflowDefinitionOptionsOrGetter = () => {
  const version = workflowInfo().currentDeploymentVersion;
  const failureExceptionTypes = [Error];
  return version === undefined || version.deploymentName === ''
    ? { failureExceptionTypes }
    : { failureExceptionTypes, versioningBehavior: 'AUTO_UPGRADE' };
};
