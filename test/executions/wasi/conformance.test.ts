import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { makeExecutor, ModuleProcesses } from '../../../activities/executions/executors';
import { SILENT_LOG } from '../../../handlers/logging/boundLog';
import { storeModule } from '../../../examples/wasm-echo/build';

/** Modules of the test suite of WASI, as far as commands need it. */

const store = mkdtempSync(path.join(tmpdir(), 'muster-wasi-'));
const processes = new ModuleProcesses();
afterAll(async () => {
  await processes.close();
  rmSync(store, { recursive: true });
});

interface Specification {
  args: string[];
  env: Record<string, string>;
  exit_code: number;
  stdout?: string;
}
const specificationOf = (name: string): Specification => {
  const file = path.join(__dirname, `${name}.json`);
  const given = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Partial<Specification>) : {};
  return { args: [], env: {}, exit_code: 0, ...given };
};

const names = readdirSync(__dirname)
  .filter((file) => file.endsWith('.wasm'))
  .map((file) => path.basename(file, '.wasm'));

test('the modules of the suite are here', () => expect(names.length).toBeGreaterThanOrEqual(6));

test.each(names)('%s', async (name) => {
  const { args, env, exit_code: exitCode, stdout } = specificationOf(name);
  const method = `${name}.wasm`;
  const functionId = storeModule(store, method, readFileSync(path.join(__dirname, method)));
  const executor = await makeExecutor(
    { functions: new Map(), functionStore: store, memoryBytes: 16 * 1_048_576, httpAllow: [] },
    processes,
    { functionId, method, concurrency: 1, limits: { stdoutBytes: 1_000, stderrBytes: 1_000 } },
    SILENT_LOG,
  );
  const call = { method, env, position: 0, executionId: 'e', signal: AbortSignal.timeout(30_000) };
  expect(await executor.run(args, call)).toMatchObject({ exitCode, ...(stdout === undefined ? {} : { stdout }) });
});
