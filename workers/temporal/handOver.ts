import { wake } from '../../activities/grouping/ring';
import { openLeaders } from '../../postgres/grouping/leaderWakes';
import { leaderRun } from '../sweeper/silentRuns';
import { StuckRuns } from '../sweeper/stuckRuns';
import type { StuckRunsOptions } from '../sweeper/stuckRuns';

/**
 * Interval between looks at leaders that may be stuck, and for how long to look: the sweeper finds
 * those that get stuck later.
 */
const EVERY_MS = 1_000;
const FOR_MS = 30_000;

/**
 * Wakes all leaders that work or wait, after another version became the current one. A run whose
 * worker lives hears it, sees that its version is no longer the current one, and continues as new
 * there once nothing is in flight; a run that no worker takes is begun anew.
 */
export const handOverLeaders = async (options: StuckRunsOptions, stopped: AbortSignal): Promise<void> => {
  const leaders = await openLeaders(options.pool);
  if (leaders.length === 0) return;
  options.log.info({ leaders: leaders.length }, 'notifying leaders of the new version');
  await wake(options, leaders);
  const stuck = new StuckRuns(options);
  let runs = leaders.map((leader) => leaderRun(options, leader));
  const since = performance.now();
  for (let silentMs = 0; silentMs < FOR_MS && runs.length > 0; silentMs = performance.now() - since) {
    await pause(EVERY_MS, stopped);
    if (stopped.aborted) return;
    await stuck.look(runs.map((run) => ({ ...run, silentMs })));
    runs = runs.filter((run) => stuck.mayWaitForVersion(run));
  }
};

const pause = (ms: number, stopped: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      stopped.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    stopped.addEventListener('abort', over);
  });
