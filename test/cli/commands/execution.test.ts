import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DEFAULT_EXECUTION_SETTINGS } from '../../../activities/executions/settings';
import { loadSettings } from '../../../workers/config/config';
import { createDatabase, temporalAddress } from '../../helpers/database';
import type { TestDatabase } from '../../helpers/database';
import { runCli, startCli } from '../process';
import type { CliProcess } from '../process';
import { makeFolder } from '../world';

/** `execute` and `execution`, with a worker that is made by a config file alone. @slow */

const CONFIG = `
import { defineFunction } from 'temporal-muster';
export const functions = [
  defineFunction({ name: 'greet', run: (args, { env }) => env['WORD'] + ' ' + args.join(' ') }),
  { name: 'picky', run: ([n]) => ({ exitCode: n === '3' ? 1 : 0 }) },
];
export const executions = { maxAttempts: 2, retryBaseMs: 10, attributes: { zone: 'eu' }, topics: ['mail'] };
`;
let folder: string;
let database: TestDatabase;
let worker: CliProcess;
let env: Record<string, string>;
beforeAll(async () => {
  folder = makeFolder();
  database = await createDatabase();
  env = {
    MUSTER_DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporalAddress(),
    MUSTER_PREFIX: `cli-${database.name}`,
  };
  writeFileSync(path.join(folder, 'muster.config.ts'), CONFIG);
  worker = startCli(['worker', '--json', '--log-level', 'error'], { cwd: folder, env });
  await worker.says(/"ready":true/);
});
afterAll(async () => {
  worker.child.kill('SIGTERM');
  await worker.exit;
  await database.drop();
  rmSync(folder, { recursive: true });
});
const run = (args: string[], stdin = '') => runCli(args, { cwd: folder, env, stdin });
const LISTS = '["1"]\n["2"]\n\n["3"]\n';

test('execution: none yet', async () => {
  expect((await run(['execution'])).stdout).toBe('No executions yet: `muster execute` starts one.\n');
  expect((await run(['execution', '--json'])).json()).toEqual([]);
});

test('execute --wait, execution, --results: E13 on stdout', async () => {
  const executed = await run(
    [
      'execute',
      '--function',
      'greet',
      '--args-file',
      '-',
      '--env',
      'WORD=hello',
      '--attribute',
      'zone=eu',
      '--wait',
      '--json',
    ],
    LISTS,
  );
  expect(executed).toMatchObject({ code: 0 });
  const view = executed.json<{ id: string }>();
  expect(view).toMatchObject({ state: 'done', items: 3, attemptsLimit: 2, counts: { done: 3 } });
  const results = await run(['execution', view.id, '--results']);
  const document = JSON.parse(results.stdout) as { chunks: Record<string, { results: object }>; code: string };
  expect(document).toMatchObject({ code: '200', request_id: view.id });
  const entries = Object.values(Object.values(document.chunks)[0]!.results) as { result: { stdout: string } }[];
  expect(entries.map(({ result }) => result.stdout)).toEqual(['hello 1', 'hello 2', 'hello 3']);
  const shown = await run(['execution', view.id]);
  expect(shown.stdout).toMatch(/state +done[^]*greet\/run|greet\/run[^]*state +done/);
  expect((await run(['execution'])).stdout).toContain(view.id);
});

test('--topic asks only nodes whose config subscribes to it, --nodes -1 all of these', async () => {
  const asked = (topic: string, ...more: string[]) =>
    run(
      ['execute', '--function', 'greet', '--args-file', '-', '--topic', topic, '--nodes', '-1', '--json', ...more],
      '["1"]\n',
    );
  const done = await asked('mail', '--wait');
  expect(done.json()).toMatchObject({ state: 'done', counts: { done: 1 } });
  const waits = await asked('news');
  expect(waits.json()).toMatchObject({ code: '503', message: expect.stringContaining('news') });
});

test('an item that failed permanently is exit code 1, and --items failed names it', async () => {
  const executed = await run(
    ['execute', '--function', 'picky', '--args-file', '-', '--max-attempts', '50', '--wait', '--json'],
    LISTS,
  );
  expect(executed.code).toBe(1);
  const view = executed.json<{ id: string }>();
  expect(view).toMatchObject({ state: 'done', counts: { done: 2, permanentlyFailed: 1 } });
  const items = await run(['execution', view.id, '--items', 'failed']);
  expect(JSON.parse(items.stdout)).toMatchObject({
    position: 2,
    state: 'permanently-failed',
    attempts: 2,
    arguments: ['3'],
  });
});

test('--wait with --results or --items prints that alone, and keeps the exit code of the end', async () => {
  const args = ['execute', '--function', 'picky', '--args-file', '-', '--json'];
  const { request_id: id } = (await run(args, LISTS)).json<{ request_id: string }>();
  const results = await run(['execution', id, '--wait', '--results', '--json']);
  expect(results.code).toBe(1);
  expect(results.json()).toMatchObject({ request_id: id, message: expect.stringContaining('1 permanently failed') });
  expect((await run(['execution', id, '--wait', '--results'])).stdout).toBe(results.stdout);
  const items = await run(['execution', id, '--wait', '--items', 'failed']);
  expect(items.code).toBe(1);
  expect(items.lines()).toEqual([expect.objectContaining({ position: 2, state: 'permanently-failed' })]);
  expect((await run(['execution', id, '--wait', '--items', 'all'])).lines()).toHaveLength(3);
  for (const both of [
    ['--results', '--items', 'all'],
    ['--cancel', '--results'],
    ['--cancel', '--items', 'all'],
  ])
    expect((await run(['execution', id, ...both])).stderr).toContain('cannot be used with option');
});

test('without a node it waits and says so; --cancel; the same --request-id is accepted once', async () => {
  const requestId = '0b8f7f0e-5d0f-4f0c-9a52-3a6c5c1d2b11';
  const args = [
    'execute',
    '--function',
    'greet',
    '--args-file',
    '-',
    '--attribute',
    'zone=mars',
    '--request-id',
    requestId,
    '--json',
  ];
  const answer = { request_id: requestId, code: '503', message: expect.stringContaining('zone=mars') };
  expect((await run(args, LISTS)).json()).toEqual(answer);
  expect((await run(args, LISTS)).json()).toEqual(answer);
  const other = await run(args, '["1"]\n');
  expect(other).toMatchObject({ code: 2 });
  expect(other.json()).toMatchObject({ error: { code: 'ID_CONFLICT' } });
  const waited = await run(['execution', requestId, '--wait', '--timeout', '200ms']);
  expect(waited.code).toBe(4);
  const cancelled = await run(['execution', requestId, '--cancel', '--json']);
  expect(cancelled.json()).toMatchObject({ state: 'cancelled', counts: { created: 3 } });
});

test('bad input: exit code 2, the line is named, nothing was accepted', async () => {
  const bad = await run(['execute', '--function', 'greet', '--args-file', '-'], '["1"]\n[2]\n');
  expect(bad.code).toBe(2);
  expect(bad.stderr).toContain(
    'standard input, line 2: expected a JSON array of strings such as ["--id", "17"], got [2]. Nothing was accepted.',
  );
  expect((await run(['execute', '--function', 'greet'])).code).toBe(2);
  expect((await run(['execution', 'nine'])).code).toBe(2);
  const none = await run(['execution', '0b8f7f0e-5d0f-4f0c-9a52-3a6c5c1d2b12']);
  expect(none.code).toBe(1);
  expect(none.stderr).toContain(
    "not found. An ended execution is deleted after its retention period (7 days, or the workers' executions.retentionMs",
  );
});

test('settings: every problem of executions and functions is named; without any, a node answers no roll call', async () => {
  const other = makeFolder();
  const load = async (config: string) => {
    writeFileSync(path.join(other, 'muster.config.mjs'), config);
    return loadSettings({}, {}, { cwd: other, env: {} });
  };
  await expect(
    load(
      `export const functions = [{ name: 'http', run: () => '' }]; export const executions = { maxAttempts: 0, leaseMs: 'x', leasems: 1 };`,
    ),
  ).rejects.toThrow(
    /functions\.0\.name: expected a name other than "http"[^]*executions|executions[^]*functions\.0\.name/,
  );
  rmSync(other, { recursive: true });
  expect(DEFAULT_EXECUTION_SETTINGS.serves).toBe(false);
});
