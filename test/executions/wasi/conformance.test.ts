import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { makeExecutor, ModuleProcesses } from '../../../activities/executions/executors';
import { SILENT_LOG } from '../../../handlers/logging/boundLog';
import { storeModule } from '../../../examples/wasm-echo/build';

/** Modules of the test suite of WASI, as far as commands need it. @slow */

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

const MODULE = /\.wasm(\.gz)?$/;
const files = readdirSync(__dirname).filter((file) => MODULE.test(file));
const moduleIn = (file: string): Buffer => {
  const bytes = readFileSync(path.join(__dirname, file));
  return file.endsWith('.gz') ? gunzipSync(bytes) : bytes;
};

test('all modules of the suite that need no folder are here', () => expect(files).toHaveLength(23));

test.each(files)('%s', async (file) => {
  const name = file.replace(MODULE, '');
  const { args, env, exit_code: exitCode, stdout } = specificationOf(name);
  const method = `${name}.wasm`;
  const functionId = storeModule(store, method, moduleIn(file));
  const executor = await makeExecutor(
    { functions: new Map(), functionStore: store, memoryBytes: 16 * 1_048_576, httpAllow: [] },
    processes,
    { functionId, method, concurrency: 1, limits: { stdoutBytes: 1_000, stderrBytes: 1_000 } },
    SILENT_LOG,
  );
  const call = { method, env, position: 0, executionId: 'e', signal: AbortSignal.timeout(30_000) };
  expect(await executor.run(args, call)).toMatchObject({ exitCode, ...(stdout === undefined ? {} : { stdout }) });
});
