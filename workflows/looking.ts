import { condition, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow';
import type { WorkflowDefinitionOptionsOrGetter } from '@temporalio/common';
import { lookSignal } from './definitions';

/** Looks of one run, beyond the server's own suggestion to continue as new. */
const LOOKS_PER_RUN = 500;

/**
 * The loop of a workflow that works off something in the store: looks, waits until the next thing is due or somebody says look, and ends
 * when nothing is left and nobody said look since the last look began.
 *
 * No wake-up is lost: whoever makes work commits it, then signals (with start). The flag is lowered *before* the look, so a signal that
 * comes while it runs means one more look; and between reading the flag and returning there is no await, so a signal that comes after is
 * either refused together with the close by the server, which runs this workflow task again with it, or finds the run closed and starts
 * the next one. The same holds for continue-as-new: the next run begins with a look.
 */
export const lookUntilIdle = async (
  look: () => Promise<{ dueInMs: number | null }>,
  again: () => Promise<never>,
  waitsFor: string,
): Promise<void> => {
  let woken = false;
  setHandler(lookSignal, () => void (woken = true), { description: 'There is something new in the store' });
  for (let looks = 0; ; looks++) {
    if (looks >= LOOKS_PER_RUN || workflowInfo().continueAsNewSuggested) await again();
    woken = false;
    const { dueInMs } = await look();
    if (woken || dueInMs === 0) continue;
    if (dueInMs === null) return;
    setCurrentDetails(`As of ${new Date().toISOString()}: ${waitsFor} in ${dueInMs} ms`);
    await condition(() => woken, dueInMs, { summary: waitsFor });
  }
};

/**
 * For workflows that wait for days: by then the workers of the version that began the run are gone, so it goes on with the current one,
 * and its code changes under `patched` only. A server refuses a behaviour from a worker that is not versioned.
 */
export const upgradedWhileWaiting: WorkflowDefinitionOptionsOrGetter = () => {
  const version = workflowInfo().currentDeploymentVersion;
  return version === undefined || version.deploymentName === '' ? {} : { versioningBehavior: 'AUTO_UPGRADE' };
};
