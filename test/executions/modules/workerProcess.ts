import { ModuleProcesses } from '../../../activities/executions/executors';
import { wasmExecutor } from '../../../activities/executions/executors/wasm/wasmExecutor';
import { runToEnd } from '../../helpers/runToEnd';

/** A process that runs a module which does not end, as a worker does, and is killed meanwhile. */
const [store, functionId] = process.argv.slice(2) as [string, string];

runToEnd(async () => {
  const make = { functionId, method: 'm.wasm', concurrency: 1, limits: { stdoutBytes: 0, stderrBytes: 0 } };
  const executor = await wasmExecutor(new ModuleProcesses(), { store, memoryBytes: 65_536 }, make);
  const call = { method: 'm.wasm', env: {}, position: 0, executionId: 'e', signal: new AbortController().signal };
  const place = await executor.place!(call.signal);
  process.stdout.write('ready\n');
  await place.run([], call);
});
