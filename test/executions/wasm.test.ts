import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ModuleProcesses, makeExecutor } from '../../activities/executions/executors';
import type { RunOutcome } from '../../activities/executions/executors';
import { SILENT_LOG } from '../../handlers/logging/boundLog';
import { limitModule } from '../../activities/executions/executors/wasm/limitModule';
import { contentIdsOf } from '../../activities/executions/executors/wasm/store';
import { contentId } from '../../client';
import { assemble, storeModule } from '../../examples/wasm-echo/build';
import { eventually } from '../helpers/eventually';
import { moduleProcessesOf } from './modules/moduleProcesses';
import type { Fleet } from './helpers';
import { ended, openFleet } from './helpers';

const store = mkdtempSync(path.join(tmpdir(), 'muster-functions-'));
const processes = new ModuleProcesses();
afterAll(async () => {
  await processes.close();
  rmSync(store, { recursive: true });
});
const MEMORY = 4 * 65_536;
const limits = { stdoutBytes: 100, stderrBytes: 100 };
const source = (over = {}) => ({
  functions: new Map(),
  functionStore: store,
  memoryBytes: MEMORY,
  httpAllow: [],
  ...over,
});

const IMPORTS = `
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $fd_close (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ_sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open" (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (memory (export "memory") 2)`;
const stored = async (body: string): Promise<string> =>
  storeModule(store, 'm.wasm', await assemble('m.wat', `(module ${IMPORTS} ${body})`));
const runOf = async (
  id: string,
  args: string[] = [],
  { env = {}, ms = 60_000, over = {} } = {},
): Promise<RunOutcome> => {
  const executor = await makeExecutor(
    source(over),
    processes,
    {
      functionId: id,
      method: 'm.wasm',
      concurrency: 1,
      limits,
    },
    SILENT_LOG,
  );
  try {
    const signal = AbortSignal.timeout(ms);
    return await executor.run(args, { method: 'm.wasm', env, position: 0, executionId: 'e', signal });
  } finally {
    await executor.close();
  }
};
const ran = async (body: string, options = {}): Promise<RunOutcome> => runOf(await stored(body), [], options);

describe('WebAssembly with WASI', () => {
  test('exit codes come back, and a trap is a failure of the run', async () => {
    expect(await ran('(func (export "_start") (call $exit (i32.const 7)))')).toMatchObject({ exitCode: 7 });
    expect(await ran('(func (export "_start"))')).toMatchObject({ exitCode: 0, stdout: '' });
    expect(await ran('(func (export "_start") unreachable)')).toMatchObject({
      exitCode: null,
      nodeError: expect.stringContaining('unreachable'),
    });
    expect(await ran('')).toMatchObject({ exitCode: null, nodeError: expect.stringContaining('no _start') });
  });

  test('variables are those of the template, none of this process', async () => {
    const body = `(func (export "_start") (drop (call $environ_sizes (i32.const 0) (i32.const 4)))
      (drop (call $environ (i32.const 16) (i32.const 256)))
      (i32.store (i32.const 8) (i32.const 256)) (i32.store (i32.const 12) (i32.load (i32.const 4)))
      (drop (call $fd_write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 4))))`;
    expect(await ran(body, { env: { A: '1', B: 'two' } })).toMatchObject({ stdout: 'A=1\0B=two\0' });
    expect(await ran(body)).toMatchObject({ stdout: '' });
  });

  test('a loop without end, and a sleep of an hour, are ended when the time is up', async () => {
    const sleep = `(func (export "_start") (i32.store (i32.const 16) (i32.const 1)) (i64.store (i32.const 24) (i64.const 3600000000000))
      (drop (call $poll (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 128))))`;
    for (const body of ['(func (export "_start") (loop $on (br $on)))', sleep]) {
      const begun = performance.now();
      expect(await ran(body, { ms: 300 })).toMatchObject({
        exitCode: null,
        nodeError: expect.stringContaining('interrupted'),
      });
      expect(performance.now() - begun).toBeLessThan(30_000);
    }
  });

  test('a short sleep sleeps', async () => {
    const begun = performance.now();
    const body = `(func (export "_start") (i32.store (i32.const 16) (i32.const 1)) (i64.store (i32.const 24) (i64.const 200000000))
      (call $exit (call $poll (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 128))))`;
    expect(await ran(body)).toMatchObject({ exitCode: 0 });
    expect(performance.now() - begun).toBeGreaterThan(195);
  });

  test('memory grows up to the limit and no further; more to begin with is refused', async () => {
    const grow = `(func (export "_start") (local $n i32) (loop $on (if (i32.ne (memory.grow (i32.const 1)) (i32.const -1))
      (then (local.set $n (i32.add (local.get $n) (i32.const 1))) (br $on)))) (call $exit (local.get $n)))`;
    expect(await ran(grow)).toMatchObject({ exitCode: 2 }); // from 2 pages to 4
    expect(await ran(grow, { over: { memoryBytes: 10 * 65_536 } })).toMatchObject({ exitCode: 8 });
    expect(await ran(grow, { over: { memoryBytes: 65_536 } })).toMatchObject({
      exitCode: null,
      stderr: expect.stringContaining('the module needs 131072 bytes of memory, and this node allows 65536'),
    });
    const outside = await assemble('o.wat', '(module (import "env" "memory" (memory 1)))');
    expect(() => limitModule(outside, MEMORY)).toThrow('the module imports its memory');
    expect(() => limitModule(Buffer.from('no module at all'), MEMORY)).toThrow('the file is not a WebAssembly module');
    const tables = (limits: string): Promise<Uint8Array> => assemble('t.wat', `(module (table ${limits} funcref))`);
    expect(limitModule(await tables('1'), MEMORY)).toEqual(Buffer.from(await tables('1 8192'))); // 32 bytes per entry
    expect(limitModule(await tables('3 5'), MEMORY)).toEqual(Buffer.from(await tables('3 5')));
    const two = (max: string): Promise<Uint8Array> =>
      assemble('t.wat', `(module ${`(table 2 ${max} funcref)`.repeat(2)})`);
    expect(limitModule(await two(''), MEMORY)).toEqual(Buffer.from(await two('4096')));
    const small = await assemble('s.wat', '(module (memory 1 2))');
    expect(Buffer.from(limitModule(small, MEMORY))).toEqual(Buffer.from(small));
  });

  test('output is kept up to the limit, and all of it is counted', async () => {
    const body = `(func (export "_start") (local $n i32) (i32.store (i32.const 8) (i32.const 256)) (i32.store (i32.const 12) (i32.const 1000))
      (loop $on (drop (call $fd_write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 4)))
        (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if $on (i32.lt_u (local.get $n) (i32.const 1000)))))`;
    const outcome = await ran(body);
    expect(outcome.stdout).toHaveLength(101);
    expect(outcome.stdoutBytes).toBe(1_000_000);
  });

  test('no files: nothing is preopened, other descriptors are bad, standard input is empty', async () => {
    const open = (fd: number): string =>
      `(call $path_open (i32.const ${fd}) (i32.const 0) (i32.const 256) (i32.const 1) (i32.const 0) (i64.const 1) (i64.const 1) (i32.const 0) (i32.const 0))`;
    for (const fd of [0, 1, 3, 4, 5]) {
      const { exitCode } = await ran(
        `(func (export "_start") (i32.store8 (i32.const 256) (i32.const 46)) (call $exit ${open(fd)}))`,
      );
      expect(exitCode).not.toBe(0);
    }
    expect(
      await ran(
        '(func (export "_start") (call $exit (call $fd_write (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 4))))',
      ),
    ).toMatchObject({ exitCode: 8 });
    const read =
      '(func (export "_start") (i32.store (i32.const 4) (i32.const 9)) (drop (call $fd_read (i32.const 0) (i32.const 8) (i32.const 1) (i32.const 4))) (call $exit (i32.load (i32.const 4))))';
    expect(await ran(read)).toMatchObject({ exitCode: 0 });
    // Closing its outputs closes nothing of ours.
    expect(
      await ran('(func (export "_start") (drop (call $fd_close (i32.const 1))) (drop (call $fd_close (i32.const 2))))'),
    ).toMatchObject({ exitCode: 0 });
  });

  test('a module is what its id says, or is not run; a method is a file of its folder', async () => {
    const id = await stored('(func (export "_start"))');
    const file = path.join(store, id, 'm.wasm');
    const { sha256, cid } = contentIdsOf(readFileSync(file));
    expect(cid).toBe(id);
    expect(cid).toMatch(/^bafkrei[a-z2-7]{52}$/);
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    writeFileSync(file, Buffer.concat([readFileSync(file), Buffer.from([0, 1, 0])]));
    expect(await runOf(id)).toMatchObject({ exitCode: null, stderr: expect.stringContaining('has other content') });
    expect(await runOf(`bafkrei${'a'.repeat(52)}`)).toMatchObject({
      stderr: expect.stringContaining('the function store of this node has no'),
    });
    const executor = await makeExecutor(
      source(),
      processes,
      {
        functionId: id,
        method: '../../secret',
        concurrency: 1,
        limits,
      },
      SILENT_LOG,
    );
    const call = { method: '', env: {}, position: 0, executionId: 'e', signal: AbortSignal.timeout(1_000) };
    expect(await executor.run([], call)).toMatchObject({
      stderr: expect.stringContaining('method: expected a file name'),
    });
  });
});

describe('a real WASI echo.wasm over 20 URLs and 4 nodes', () => {
  let fleet: Fleet;
  let id: string;
  const urls = Array.from({ length: 20 }, (_, i) => [`https://example.com/dir1/dir2/resource/some-random-slug-${i}`]);
  beforeAll(async () => {
    const wat = readFileSync(path.join(__dirname, '../../examples/wasm-echo/echo.wat'), 'utf8');
    id = storeModule(store, 'echo.wasm', await assemble('echo.wat', wat));
    fleet = await openFleet({}, { functionStore: store });
    for (let i = 0; i < 4; i++) await fleet.node();
  });
  afterAll(() => fleet.stop());

  test('chunks {0,4,8,12,16} ... {3,7,11,15,19}, every exit code 0, the result document [E4 E6 E13]', async () => {
    const execution = await fleet.client.execute(
      { functionId: id, method: 'echo.wasm', config: { numberOfNodes: 4 } },
      urls,
    );
    expect(await ended(execution)).toMatchObject({ state: 'done', counts: { done: 20 } });
    const { chunks, code, request_id } = await execution.results();
    expect({ code, request_id }).toEqual({ code: '200', request_id: execution.id });
    const found = Object.values(chunks).map(({ peer, results }) => ({
      peer,
      slugs: Object.values(results).map(({ arguments: [url] }) => Number(url!.split('-').at(-1))),
    }));
    expect(new Set(found.map(({ peer }) => peer)).size).toBe(4);
    expect(found.map(({ slugs }) => slugs).sort((a, b) => a[0]! - b[0]!)).toEqual([
      [0, 4, 8, 12, 16],
      [1, 5, 9, 13, 17],
      [2, 6, 10, 14, 18],
      [3, 7, 11, 15, 19],
    ]);
    for (const { results } of Object.values(chunks))
      for (const [key, entry] of Object.entries(results)) {
        const [url] = entry.arguments;
        expect(key).toBe(contentId(id, 'echo.wasm', [url!]));
        expect(entry).toEqual({
          result: {
            stdout: `${url}\n`,
            stderr: '',
            exit_code: 0,
            usage: {
              wall_ms: expect.any(Number),
              cpu_ms: 'threadCpuUsage' in process ? expect.any(Number) : null, // from Node 23.9 on
              memory_bytes: expect.any(Number),
              stdout_bytes: url!.length + 1,
              stderr_bytes: 0,
            },
            metadata: {},
          },
          function_invocation: `${id}/echo.wasm`,
          arguments: [url],
        });
      }
  });

  test('the process of a module that is killed costs the item in it one attempt, and no other', async () => {
    const poll = `(func (export "_start") (i32.store (i32.const 16) (i32.const 1))
      (i64.store (i32.const 24) (i64.const 1000000000))
      (drop (call $poll (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 128))))`;
    const before = moduleProcessesOf(process.pid).map(({ pid }) => pid);
    const template = { functionId: await stored(poll), method: 'm.wasm', config: { numberOfNodes: 1 } };
    const execution = await fleet.client.execute(template, [['a'], ['b'], ['c']]);
    const { pid } = await eventually(() => moduleProcessesOf(process.pid).find((one) => !before.includes(one.pid)));
    process.kill(pid, 'SIGKILL');
    expect(await ended(execution)).toMatchObject({ state: 'done', counts: { done: 3 } });
    const attempts = [];
    for await (const item of execution.items()) attempts.push(item.attempts);
    expect(attempts.toSorted((a, b) => a - b)).toEqual([1, 1, 2]);
  });

  test('arguments of any size, several, none', async () => {
    const lists = [['a', 'b c', ''], ['x'.repeat(60_000), 'é'.repeat(10_000)], []];
    const execution = await fleet.client.execute({ functionId: id, method: 'echo.wasm' }, lists, { maxAttempts: 1 });
    await ended(execution);
    const outputs = [];
    for await (const { stdout, stderr, exitCode } of execution.items()) outputs.push([exitCode, stdout, stderr]);
    expect(outputs[0]).toEqual([0, 'a b c \n', '']);
    expect(outputs[1]![1]).toMatch(/^x{60000} é+\n\[cut: 80002 bytes, the limit is 65536\]$/);
    expect(outputs[2]).toEqual([2, '', 'usage: echo <text>...\n']);
  });
});
