import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { setImmediate as tick, setTimeout } from 'node:timers/promises';
import type { Executor, RunOutcome } from '../../../activities/executions/executors';
import { makeExecutor, ModuleProcesses } from '../../../activities/executions/executors';
import { SILENT_LOG } from '../../../handlers/logging/boundLog';
import { guestCommand, guestSource } from '../../../activities/executions/executors/wasm/guestProgram';
import { ModuleProcess } from '../../../activities/executions/executors/wasm/moduleProcess';
import { assemble, storeModule } from '../../../examples/wasm-echo/build';
import { eventually } from '../../helpers/eventually';
import { moduleProcessesOf } from './moduleProcesses';

/** The processes in which modules run. @slow */

const store = mkdtempSync(path.join(tmpdir(), 'muster-modules-'));
let processes: ModuleProcesses;
beforeEach(() => void (processes = new ModuleProcesses()));
afterEach(async () => {
  await processes.close();
  expect(moduleProcessesOf(process.pid)).toEqual([]);
});
afterAll(() => rmSync(store, { recursive: true }));

const LOOP = '(module (memory (export "memory") 1) (func (export "_start") (loop $on (br $on))))';
const NOTHING = '(module (memory (export "memory") 1) (func (export "_start")))';
const sleeping = (ms: number): string => `(module
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start") (i32.store (i32.const 16) (i32.const 1)) (i64.store (i32.const 24) (i64.const ${ms}000000))
    (drop (call $poll (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 128)))))`;

const stored = async (text: string): Promise<string> => storeModule(store, 'm.wasm', await assemble('m.wat', text));
const executorOf = (functionId: string): Promise<Executor> =>
  makeExecutor(
    { functions: new Map(), functionStore: store, memoryBytes: 1_048_576, httpAllow: [] },
    processes,
    {
      functionId,
      method: 'm.wasm',
      concurrency: 1,
      limits: { stdoutBytes: 100, stderrBytes: 100 },
    },
    SILENT_LOG,
  );
const callOf = (signal: AbortSignal) => ({ method: 'm.wasm', env: {}, position: 0, executionId: 'e', signal });
const run = (executor: Executor, signal = AbortSignal.timeout(60_000)): Promise<RunOutcome> =>
  executor.run([], callOf(signal));
const busy = (parent = process.pid) =>
  eventually(() => {
    const found = moduleProcessesOf(parent).filter(({ cpuMs }) => cpuMs >= 400);
    return found[0];
  });

test('a worker that is killed leaves no process behind, even one whose module never ends', async () => {
  const script = path.join(__dirname, '..', '..', '..', 'dist', 'test', 'executions', 'modules', 'workerProcess.js');
  const worker = spawn(process.execPath, [script, store, await stored(LOOP)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const { pid } = await busy(worker.pid);
  const gone = once(worker, 'exit');
  worker.kill('SIGKILL');
  await gone;
  await eventually(() => !existsSync(`/proc/${pid}`));
});

test('the death of a process fails the run that was in it, and no other', async () => {
  const executor = await executorOf(await stored(sleeping(1_000)));
  // Both have compiled the module by then.
  const places = await Promise.all([1, 2].map(() => executor.place!(AbortSignal.timeout(60_000))));
  const runs = places.map((place) => place.run([], callOf(AbortSignal.timeout(60_000))));
  process.kill(moduleProcessesOf(process.pid)[0]!.pid, 'SIGKILL');
  const outcomes = await Promise.all(runs);
  const failed = outcomes.filter(({ exitCode }) => exitCode === null);
  expect(failed).toMatchObject([
    { nodeError: expect.stringContaining('the process of the module ended with SIGKILL') },
  ]);
  expect(outcomes.filter(({ exitCode }) => exitCode === 0)).toHaveLength(1);
  for (const place of places) place.leave();
  expect(await run(executor)).toMatchObject({ exitCode: 0 });
});

test('an interrupted run ends its process at once', async () => {
  const executor = await executorOf(await stored(LOOP));
  const stop = new AbortController();
  const running = run(executor, stop.signal);
  const { pid } = await busy();
  stop.abort(new Error('no answer within 1 ms'));
  expect(await running).toMatchObject({ exitCode: null, nodeError: 'interrupted: no answer within 1 ms' });
  await eventually(() => !existsSync(`/proc/${pid}`));
});

test('a process has no variables, no folder and limits of the system, and is used again', async () => {
  const executor = await executorOf(await stored(NOTHING));
  await run(executor);
  const { pid } = moduleProcessesOf(process.pid)[0]!;
  expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toMatch(/PATH|HOME|MUSTER|NODE/);
  expect(readlinkSync(`/proc/${pid}/cwd`)).toBe('/');
  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
  expect(limits).toMatch(/Max open files\s+64\s+64/);
  expect(limits).toMatch(/Max core file size\s+0\s+0/);
  expect(limits).toMatch(/Max data size\s+\d+\s+\d+/);
  expect(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim()).toBe('1000');
  await run(executor);
  expect(moduleProcessesOf(process.pid).map((one) => one.pid)).toEqual([pid]);
});

/** Runs a text in place of the program of a module's process. */
const guest = async (code: string): Promise<{ said: string; exitCode: number }> => {
  const { file, args } = guestCommand({ residentBytes: 0, dataBytes: 2 ** 31, heapMib: 0 });
  const child = spawn(file, args, { cwd: '/', env: {}, stdio: ['pipe', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (part: Buffer) => (said += part.toString()));
  const program = Buffer.from(code);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(program.length);
  child.stdin.end(Buffer.concat([length, program]));
  const [exitCode] = (await once(child, 'close')) as [number];
  return { said, exitCode };
};

test('its program reaches no server, where the system lets a process have a network of its own', async () => {
  const hasOwn = spawnSync('unshare', ['--user', '--map-current-user', '--net', 'true']).status === 0;
  let reached = 0;
  const server = createServer((socket) => {
    reached++;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { said, exitCode } = await guest(`require('net').connect(${port}, '127.0.0.1').resume()`);
  server.close();
  // Elsewhere the missing code alone keeps it from the network: SECURITY.md says so.
  const isRefused = /ENETUNREACH|ERR_ACCESS_DENIED/.test(said); // the latter by Node itself, from 25 on
  expect([reached, exitCode, isRefused]).toEqual(hasOwn || isRefused ? [0, 1, true] : [1, 0, false]);
});

test.each([
  ['reads a file', `require('fs').readFileSync('/etc/hostname')`],
  ['lists a folder', `require('fs').readdirSync('/')`],
  ['writes a file', `require('fs').writeFileSync('/tmp/muster-escaped', '')`],
  ['starts a process', `require('child_process').execFileSync('/bin/true')`],
  ['compiles a text', `new Function('return 1')()`],
])('its program is refused what it must not do: %s', async (_, code) => {
  const { said, exitCode } = await guest(code);
  expect(said).toMatch(/ERR_ACCESS_DENIED|Code generation from strings disallowed/);
  expect(exitCode).toBe(1);
});

test('a process that takes more memory than it may ends, and says why', async () => {
  const limits = { residentBytes: 1_048_576, dataBytes: 2 ** 31, heapMib: 32 };
  const greedy = new ModuleProcess(guestSource(), limits);
  const module = await assemble('m.wat', LOOP);
  const work = async (): Promise<unknown> => {
    await greedy.compile(module, AbortSignal.timeout(60_000));
    return greedy.run({ args: [], env: {}, stdoutBytes: 0, stderrBytes: 0 }, AbortSignal.timeout(60_000));
  };
  const ended = await work().catch(({ message }: Error) => ({ nodeError: message }));
  expect(ended).toMatchObject({
    nodeError: 'the process of the module ended with SIGKILL: it took more memory than this node allows',
  });
  await greedy.gone;
});

test('a process that the system gives too little memory ends, and Node says why', async () => {
  const limits = { residentBytes: 2 ** 31, dataBytes: 8 * 1_048_576, heapMib: 32 };
  const poor = new ModuleProcess(guestSource(), limits);
  const compiling = poor.compile(await assemble('m.wat', NOTHING), AbortSignal.timeout(60_000));
  await expect(compiling).rejects.toThrow(/the process of the module ended with/);
  await poor.gone;
  // Whoever asks after its end is told the same.
  const late = poor.compile(new Uint8Array(), AbortSignal.timeout(60_000));
  await expect(late).rejects.toThrow(/the process of the module ended with/);
});

test('there are only a few processes: a run waits for one, and can be interrupted meanwhile', async () => {
  const [sleeper, other] = [await executorOf(await stored(sleeping(400))), await executorOf(await stored(NOTHING))];
  const stop = new AbortController();
  const runs = Array.from({ length: 30 }, () => run(sleeper));
  await eventually(() => moduleProcessesOf(process.pid).length > 1);
  const interrupted = run(other, stop.signal);
  stop.abort(new Error('enough'));
  expect(await interrupted).toMatchObject({ exitCode: null, nodeError: expect.stringContaining('interrupted') });
  let most = 0;
  const look = setInterval(() => (most = Math.max(most, moduleProcessesOf(process.pid).length)), 20);
  expect((await Promise.all(runs)).map(({ exitCode }) => exitCode)).toEqual(Array(30).fill(0));
  clearInterval(look);
  expect(most).toBeLessThan(30);
  // A process of another module makes room.
  expect(await run(other)).toMatchObject({ exitCode: 0 });
});

test('a process that dies while it compiles is started again, a few times', async () => {
  const executor = await executorOf(await stored(NOTHING));
  for (let i = 0; i < 3; i++) {
    const running = run(executor);
    const [found] = await eventually(() => ((all) => all.length > 0 && all)(moduleProcessesOf(process.pid)));
    process.kill(found!.pid, 'SIGKILL');
    expect(await running).toMatchObject({ nodeError: expect.stringContaining('the process of the module ended with') });
  }
  const begun = performance.now();
  for (let i = 0; i < 100; i++)
    expect(await run(executor)).toMatchObject({
      nodeError: expect.stringContaining('the process of the module ended'),
    });
  expect(moduleProcessesOf(process.pid)).toEqual([]);
  expect(performance.now() - begun).toBeLessThan(5_000);
  // Another chunk asks again.
  expect(await run(await executorOf(await stored(NOTHING)))).toMatchObject({ exitCode: 0 });
});

test('a module that is too long is not read', async () => {
  const id = 'a'.repeat(64);
  mkdirSync(path.join(store, id));
  writeFileSync(path.join(store, id, 'm.wasm'), '');
  truncateSync(path.join(store, id, 'm.wasm'), 64 * 1_048_576 + 1);
  expect(await run(await executorOf(id))).toMatchObject({
    exitCode: null,
    nodeError: expect.stringContaining('the module has 67108865 bytes, and a node runs modules of at most 67108864'),
  });
});

test('one who no longer waits for a process is passed over: the next gets what is free', async () => {
  const executor = await executorOf(await stored(NOTHING));
  const long = AbortSignal.timeout(120_000);
  const most = Math.max(4, 2 * availableParallelism());
  const places = await Promise.all(Array.from({ length: most }, () => executor.place!(long)));
  const next = executor.place!(long);
  const leaving = new AbortController();
  const left = executor.place!(leaving.signal);
  await tick();
  leaving.abort();
  expect(await (await left).run([], callOf(long))).toMatchObject({ nodeError: expect.stringContaining('interrupted') });
  await tick();
  places[0]!.leave();
  const waited = setTimeout(10_000, 'still waiting', { ref: false });
  expect(await Promise.race([next.then(() => 'has it'), waited])).toBe('has it');
  (await next).leave();
  for (const place of places.slice(1)) place.leave();
});

test('a worker without a free descriptor fails its runs with the reason, and runs modules once it has some', async () => {
  const script = path.join(__dirname, '..', '..', '..', 'dist', 'test', 'executions', 'modules', 'crowdedProcess.js');
  const command = `ulimit -n 200; exec "$0" "$@"`;
  const args = ['-c', command, process.execPath, script, store, await stored(NOTHING)];
  const { stdout, stderr } = await promisify(execFile)('/bin/sh', args, { timeout: 60_000 });
  expect(stderr).toBe('');
  const { outcomes, after } = JSON.parse(stdout) as { outcomes: string[]; after: number };
  expect(new Set(outcomes)).toEqual(new Set([expect.stringMatching(/EMFILE|too many open files/i)]));
  expect(after).toBe(0);
});

test('a process that the system refuses at once leaves its turn to the next one that waits', async () => {
  const bytes = await assemble('m.wat', NOTHING);
  const signal = AbortSignal.timeout(60_000);
  const module = (memoryBytes: number) => ({ functionId: 'f', bytes, memoryBytes });
  const most = Math.max(4, 2 * availableParallelism());
  const taken = await Promise.all(Array.from({ length: most }, () => processes.take(module(1_048_576), signal)));
  const [refused, next] = [1, 2].map(() => processes.take(module(2_097_152), signal));
  const childProcess = createRequire(__filename)('node:child_process') as { spawn: () => unknown };
  const spawning = jest.spyOn(childProcess, 'spawn').mockImplementationOnce(() => {
    throw Object.assign(new Error('spawn ENOMEM'), { code: 'ENOMEM' });
  });
  processes.give(taken.pop()!);
  await expect(refused).rejects.toThrow('ENOMEM');
  processes.give(await next!);
  spawning.mockRestore();
  for (const one of taken) processes.give(one);
});
