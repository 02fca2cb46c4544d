import { ModuleProcesses } from '../../../activities/executions/executors';
import { BODY, EXPORTS, FUNCTIONS, MEMORY, moduleOf, TYPES } from '../../attacks/wasm/binary';

/** What a process has beside the memory of its module. */

const processes = new ModuleProcesses();
afterAll(() => processes.close());

test('a module of one page is run with arguments of megabytes, which its process keeps beside that page', async () => {
  const bytes = moduleOf(TYPES, FUNCTIONS, MEMORY, EXPORTS, BODY);
  const signal = AbortSignal.timeout(60_000);
  const taken = await processes.take({ functionId: 'f', bytes, memoryBytes: 65_536 }, signal);
  const call = { args: ['m.wasm', 'x'.repeat(4 * 1_048_576)], env: {}, stdoutBytes: 100, stderrBytes: 100 };
  const outcome = await taken.run(call, signal);
  processes.give(taken);
  expect(outcome).toMatchObject({ exitCode: 0, memoryBytes: 65_536 });
});
