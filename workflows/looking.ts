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

/** Most looks per run, besides the server's suggestion to continue as new. */
const LOOKS_PER_RUN = 500;
/** Size from which on a run continues as new as soon as it can. */
const LARGE = { events: 4_096, bytes: 4_000_000 };
/**
 * Size from which on a look in progress is told to end: a server takes 10,000 signals for a run,
 * and ends one of 51,200 events or 50 MB.
 */
const TOO_LARGE = { events: 6_000, bytes: 12_000_000 };
/** Size from which on nothing is waited for any more: the next run repeats what is in progress. */
const FULL = { events: 8_000, bytes: 20_000_000 };

/** Work that a run does beside its looks. */
export interface Beside {
  /** Says whether no part of it is in progress, or left to do. */
  isAtRest(): boolean;
  /** Called when the run is about to continue as new: leaves what it can to the next run. */
  leave?(): void;
  /**
   * Says whether the run may continue as new; left out: once at rest. `isFull`: the history has
   * hardly any room left.
   */
  mayLeave?(isFull: boolean): boolean;
}

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
 * `beside`: work in this run that its end would break off, and that is waited for before.
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
 * Cancels a look for which the history has no more room: a look may take hours, and signals may
 * fill the history meanwhile. What is still to be done is in the store.
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
 * Versioning for workflows that run once per installation, or wait for days: the workers of the
 * version that began the run may be gone by then, so it goes on with the current one. A server
 * refuses a versioning behaviour from a worker that is not versioned.
 *
 * Any error that their code throws ends the run, and so does a change of the code without
 * `patched`: all that they work on is in the store, so a new run by the sweeper does better than a
 * workflow task that is repeated without end.
 */
export const upgradedWhileWaiting: WorkflowDefinitionOptionsOrGetter = () => {
  const version = workflowInfo().currentDeploymentVersion;
  const failureExceptionTypes = [Error];
  return version === undefined || version.deploymentName === ''
    ? { failureExceptionTypes }
    : { failureExceptionTypes, versioningBehavior: 'AUTO_UPGRADE' };
};
