import { createLogger } from './logging';
import type { TemporalPlugs } from './temporal/plugs';
import type { Replayed } from './temporal/replay/replay';
import { replay } from './temporal/replay/replay';
import type { RunHistory } from './temporal/replay/runs';
import { workflowBundle } from './temporal/workflowBundle';

/** `temporal-muster/testing`: what a user's own tests need of Muster. */

export { historyOf } from './temporal/replay/historyFile';
export type { Divergence, Replayed } from './temporal/replay/replay';
export { fakeMuster, FakeMuster } from './testing/fake/fakeMuster';
export type { FakeMusterOptions } from './testing/fake/fakeMuster';
export type { FakeFanouts } from './testing/fake/fakeFanouts';
export type { TestEnvironment } from './testing/fake/environment';
export { simulate } from './testing/simulate';
export { World } from './testing/simulation/world';
export type { SimulateOptions } from './testing/simulation/world';
export type { SimulatedBatch, SimulatedCall, SimulatedTask } from './testing/simulation/views';
export type { SimulatedLanes } from './testing/simulation/lanes/simulatedLanes';
export type { SimulatedSubmit } from './testing/simulation/lanes/laneSubmission';
export type { SimulatedLane } from './testing/simulation/lanes/views';
export type { SimulatedNode, SimulatedNodes } from './testing/simulation/nodes/simulatedNodes';
export { startMuster } from './testing/startMuster';
export type { StartedMuster, StartMusterOptions } from './testing/startMuster';
export { startServers } from './testing/servers';
export type { Servers } from './testing/servers';
export type { TestClock } from './testing/testClock';
export { endedRuns, openRuns } from './temporal/replay/runs';
export type { RunHistory } from './temporal/replay/runs';

/**
 * Replays histories of Muster's own runs on the installed version, as `muster replay` does: those
 * of `openRuns`, or of files by `historyOf`. `plugs`: the data converter and the workflow modules
 * of the config file; with modules or converters the bundling takes some seconds.
 */
export const replayHistories = async (
  histories: AsyncIterable<RunHistory> | Iterable<RunHistory>,
  plugs: TemporalPlugs = {},
): Promise<Replayed> =>
  replay(histories, { ...plugs, workflowBundle: await workflowBundle(plugs, createLogger('silent')) });
