import { condition, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow';
import type { WorkflowDefinitionOptionsOrGetter } from '@temporalio/common';
import { lookSignal } from './definitions';
import { checkOwnScope } from './ownScope';

/** Looks of one run, beyond the server's own suggestion to continue as new. */
const LOOKS_PER_RUN = 500;
/** While something else is under way the run goes on looking, up to so many events (a server ends it at 51,200). */
const MOST_EVENTS = 20_000;

/** Work of the same run beside its looks. */
export interface Beside {
  /** Nothing of it is under way. */
  isAtRest(): boolean;
  /** How many pieces of it have ended so far. */
  ended(): number;
}

/**
 * The loop of a workflow that works off something in the store: looks, waits until the next thing is due or somebody says look, and ends
 * when nothing is left and nobody said look since the last look began.
 *
 * No wake-up is lost: whoever makes work commits it, then signals (with start). The flag is lowered *before* the look, so a signal that
 * comes while it runs means one more look; and between reading the flag and returning there is no await, so a signal that comes after is
 * either refused together with the close by the server, which runs this workflow task again with it, or finds the run closed and starts
 * the next one. The same holds for continue-as-new: the next run begins with a look.
 *
 * `beside`: something else goes on in this run, which its end would break off: waited for before that, and looked after when it has ended.
 */
export const lookUntilIdle = async (
  look: () => Promise<{ dueInMs: number | null }>,
  again: () => Promise<never>,
  waitsFor: string,
  beside: Beside = { isAtRest: () => true, ended: () => 0 },
): Promise<void> => {
  checkOwnScope();
  let woken = false;
  setHandler(lookSignal, () => void (woken = true), { description: 'There is something new in the store' });
  for (let looks = 0; ; looks++) {
    const isFull = looks >= LOOKS_PER_RUN || workflowInfo().continueAsNewSuggested;
    if (isFull && workflowInfo().historyLength >= MOST_EVENTS)
      while (!beside.isAtRest()) await condition(() => beside.isAtRest());
    if (isFull && beside.isAtRest()) await again(); // no await between the last check and the end of the run
    const ended = beside.ended();
    const isNews = (): boolean => woken || (beside.isAtRest() && beside.ended() !== ended);
    woken = false;
    const { dueInMs } = await look();
    if (isNews() || dueInMs === 0) continue;
    if (dueInMs === null) {
      if (beside.isAtRest()) return;
      await condition(isNews);
      continue;
    }
    setCurrentDetails(`As of ${new Date().toISOString()}: ${waitsFor} in ${dueInMs} ms`);
    await condition(isNews, dueInMs, { summary: waitsFor });
  }
};

/**
 * For workflows of which there is one, or that wait for days: the workers of the version that began the run may be gone by then, so it goes on
 * with the current one. A change of its code without `patched` costs the run: it fails, and the sweeper begins the next. A server refuses a behaviour from a worker that is not versioned.
 */
export const upgradedWhileWaiting: WorkflowDefinitionOptionsOrGetter = () => {
  const version = workflowInfo().currentDeploymentVersion;
  return version === undefined || version.deploymentName === '' ? {} : { versioningBehavior: 'AUTO_UPGRADE' };
};
