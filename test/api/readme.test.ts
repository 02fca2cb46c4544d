import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { read } from '../project/project';
import type { ApiHome, ApiProcess } from './child';
import { createHome } from './child';

/**
 * The curl commands of docs/http-api.md, run as they are written, against `muster api` and a worker
 * with the handlers that it names.
 *
 * @slow
 */

const CONFIG = `
import { defineFunction, defineHandler } from 'temporal-muster';
const ok = async (batch: { tasks: readonly { id: string }[] }) => ({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
export const functions = [defineFunction({ name: 'resize', run: async ([file]) => 'resized ' + file })];
export const handlers = [
  defineHandler({ name: 'index-city', target: (city: { country: string }) => city.country, limits: { maxItems: 500 }, linger: { lingerMs: 50 }, submit: ok }),
  defineHandler({
    name: 'ledger',
    target: (edit: { order: string }) => edit.order,
    service: (order) => order,
    lane: { approach: 'serial' },
    limits: { maxItems: 50 },
    linger: { lingerMs: 50 },
    submit: ok,
  }),
];
`;

/** Where there is no curl: as much of it as the page uses. */
const CURL = `#!/usr/bin/env node
const { argv } = process; let method, body, url; const headers = {};
for (let i = 2; i < argv.length; i++) {
  if (argv[i] === '-s' || argv[i] === '-sN') continue;
  if (argv[i] === '-X') method = argv[++i];
  else if (argv[i] === '-H') { const [name, ...value] = argv[++i].split(': '); headers[name] = value.join(': '); }
  else if (argv[i] === '--json') { body = argv[++i]; headers['content-type'] = 'application/json'; }
  else url = argv[i];
}
fetch(url, { method: method ?? (body === undefined ? 'GET' : 'POST'), body, headers }).then((answer) => answer.text()).then((text) => process.stdout.write(text));
`;

let home: ApiHome;
let api: ApiProcess;
beforeAll(async () => {
  home = await createHome();
  home.write('muster.config.ts', CONFIG);
  api = await home.start();
  await home.worker();
});
afterAll(() => home.close());

const shell = async (script: string, own: boolean): Promise<string> => {
  const bin = path.join(home.folder, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(path.join(bin, 'curl'), CURL);
  chmodSync(path.join(bin, 'curl'), 0o755);
  const { PATH = '' } = process.env;
  const env = { PATH: own ? `${bin}:${PATH}` : PATH, API: api.url };
  return (await promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', script], { env, timeout: 100_000 }))
    .stdout;
};

test('the curl commands of docs/http-api.md, for each of the five systems, as they are written', async () => {
  const [, block] = /```sh\n(# tasks\n[^]*?)```/.exec(read('docs/http-api.md'))!;
  const commands = block!.split('\n').filter((line) => line.includes('curl')).length;
  expect(commands).toBeGreaterThanOrEqual(13);
  const hasCurl = await shell('curl --version', false).then(
    (text) => text.startsWith('curl'),
    () => false,
  );
  // Answers come one after the other, without a line between them; inside of JSON an object never
  // follows another without a comma.
  const answers = (await shell(block!, !hasCurl)).split(/(?<=\})(?=\{|retry)|\n/);
  const json = answers
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(json).toMatchObject([
    { accepted: 1 },
    { id: 'city-1', state: 'succeeded' },
    { tasks: [], next: null }, // no task has the tag
    { batches: [{ service: 'po-17', accepted: true }] },
    { service: 'po-17' },
    { state: 'open', userKey: 'import-17' },
    { items: 2 },
    { state: 'sealed' },
    { acked: 2, completed: [{ userKey: 'import-17' }] },
    { state: 'done', items: 2 },
    { code: '200', chunks: expect.any(Object) },
    { nodes: [{ alive: true, functions: ['resize'] }] },
    { partitions: [] }, // no handler has affinity
  ]);
  expect(answers).toContain('event: end');
});
