import { closeSync, openSync } from 'node:fs';
import { ModuleProcesses } from '../../../activities/executions/executors';
import { wasmExecutor } from '../../../activities/executions/executors/wasm/wasmExecutor';
import { runToEnd } from '../../helpers/runToEnd';

/** A worker without a free descriptor: a module cannot be started, and can once there are some. */
const [store, functionId] = process.argv.slice(2) as [string, string];
/** More than there may be processes. */
const TRIES = 40;

runToEnd(async () => {
  const processes = new ModuleProcesses();
  const make = { functionId, method: 'm.wasm', concurrency: 1, limits: { stdoutBytes: 0, stderrBytes: 0 } };
  const call = { method: 'm.wasm', env: {}, position: 0, executionId: 'e', signal: AbortSignal.timeout(60_000) };
  const executor = () => wasmExecutor(processes, { store, memoryBytes: 65_536 }, make);
  const made = await Promise.all(Array.from({ length: TRIES }, executor));
  const outcomes: unknown[] = [];
  const held = openAll();
  for (const one of made) outcomes.push((await one.run([], call)).nodeError);
  for (const descriptor of held) closeSync(descriptor);
  const after = await (await executor()).run([], call);
  await processes.close();
  process.stdout.write(JSON.stringify({ outcomes, after: after.exitCode }));
});

const openAll = (): number[] => {
  const held: number[] = [];
  try {
    for (;;) held.push(openSync('/dev/null', 'r'));
  } catch {
    return held;
  }
};
