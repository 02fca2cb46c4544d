import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { makeExecutor, ModuleProcesses } from '../../activities/executions/executors';
import type { RunOutcome } from '../../activities/executions/executors';
import { SILENT_LOG } from '../../handlers/logging/boundLog';
import { assemble, storeModule } from '../../examples/wasm-echo/build';
import type { ModuleProcessState } from '../executions/modules/moduleProcesses';
import { moduleProcessesOf } from '../executions/modules/moduleProcesses';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import { Tally } from './tally';
import { engineAttacks } from './wasm/engine';
import type { Hostile } from './wasm/hostile';
import { command } from './wasm/hostile';
import { shapeAttacks } from './wasm/shape';
import { systemAttacks } from './wasm/system';

/**
 * Modules that attack the node that runs them. After each the same node must run a good module, its
 * own memory must not have grown, and no process of a module may have had more than it may.
 *
 * @slow
 */

const tally = new Tally('WebAssembly modules');
const store = mkdtempSync(path.join(tmpdir(), 'muster-hostile-'));
const processes = new ModuleProcesses();
afterAll(async () => {
  await processes.close();
  rmSync(store, { recursive: true });
});

const MIB = 1_048_576;
const MEMORY = 16 * MIB;
/** What a process may have beside the memory of its module. */
const OVERHEAD = 192 * MIB;
/** Between two looks of the watch. */
const BETWEEN_LOOKS = 96 * MIB;
/** Of this process, which compiles tests and keeps the modules of all attacks. */
const GROWTH = 256 * MIB;
const OUTPUT_BYTES = 1_000;
/** One of so many attacks of a kind is tried. */
const ONE_OF = rounds(3, 1);

const run = async (
  bytes: Uint8Array,
  { args = [], ms = 10_000, memoryBytes = MEMORY }: Partial<Hostile>,
): Promise<RunOutcome> => {
  const functionId = storeModule(store, 'm.wasm', bytes);
  const executor = await makeExecutor(
    { functions: new Map(), functionStore: store, memoryBytes, httpAllow: [] },
    processes,
    { functionId, method: 'm.wasm', concurrency: 1, limits: { stdoutBytes: OUTPUT_BYTES, stderrBytes: OUTPUT_BYTES } },
    SILENT_LOG,
  );
  const stop = new AbortController();
  const place = await executor.place?.(stop.signal);
  const call = {
    method: 'm.wasm',
    env: { NAME: 'value' },
    position: 0,
    executionId: 'e',
    signal: AbortSignal.timeout(ms),
  };
  try {
    return await (place ?? executor).run(args, call);
  } finally {
    place?.leave();
    await executor.close();
  }
};

const children = (): ModuleProcessState[] => moduleProcessesOf(process.pid);

const fits = ({ ends }: Hostile, outcome: RunOutcome): boolean => {
  if (typeof ends === 'function') return ends(outcome);
  return typeof ends === 'number'
    ? outcome.exitCode === ends && outcome.nodeError === undefined
    : outcome.exitCode === null && ends.test(outcome.nodeError ?? '');
};

/** Returns what was wrong; null: nothing. */
const attack = async (hostile: Hostile, bytes: Uint8Array, good: Uint8Array): Promise<string | null> => {
  let peakBytes = 0;
  const look = setInterval(() => {
    for (const child of children()) peakBytes = Math.max(peakBytes, child.peakBytes);
  }, 20);
  const outcome = await run(bytes, hostile).finally(() => clearInterval(look));
  if (!fits(hostile, outcome)) return `ended with ${JSON.stringify(outcome).slice(0, 500)}`;
  if (Math.max(outcome.stdout.length, outcome.stderr.length) > 5_000) return 'its output was not cut off';
  if (peakBytes > (hostile.memoryBytes ?? MEMORY) + OVERHEAD + BETWEEN_LOOKS) return `took ${peakBytes} bytes`;
  const after = await run(good, {});
  return after.exitCode === 42 ? null : `a good module ended with ${JSON.stringify(after)}`;
};

test.each([
  ['the system', systemAttacks, 190],
  ['the engine', engineAttacks, 30],
  ['their shape', shapeAttacks, 50],
] as const)('modules that attack by %s cost the node a run each, and nothing else', async (_, attacks, atLeast) => {
  const good = await assemble('good.wat', command('(call $proc_exit (i32.const 42))'));
  const before = process.memoryUsage.rss();
  for (const hostile of attacks.filter((_attack, at) => at % ONE_OF === 0)) {
    const bytes = typeof hostile.module === 'string' ? await assemble('m.wat', hostile.module) : hostile.module;
    tally.add(hostile.name, await attack(hostile, bytes, good));
  }
  expect(process.memoryUsage.rss() - before).toBeLessThan(GROWTH);
  tally.expectNoneThrough(Math.floor(atLeast / ONE_OF));
});

test('no process of a module is left when the node stops', async () => {
  expect(children()).not.toEqual([]);
  await processes.close();
  await eventually(() => children().length === 0);
});
