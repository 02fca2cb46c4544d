import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Downstream } from '../downstream';
import { startDownstream } from '../downstream';
import { runCli } from '../process';
import { CONFIG, makeFolder, order } from '../world';

/** H11: a handler is tried by itself, without Postgres and without Temporal. */

let folder: string;
let downstream: Downstream;
beforeAll(async () => {
  folder = makeFolder();
  downstream = await startDownstream();
});
afterAll(async () => {
  await downstream.close();
  rmSync(folder, { recursive: true });
});

const write = (name: string, content: string): void => writeFileSync(path.join(folder, name), content);
const run = (args: string[], stdin = '') =>
  runCli(args, { cwd: folder, env: { DOWNSTREAM_URL: downstream.url, API_KEY: 'hidden' }, stdin });
const lines = (tasks: readonly object[]): string => tasks.map((task) => JSON.stringify(task)).join('\n');

const HTTP = {
  kind: 'http',
  name: 'index',
  target: 'country',
  schema: { type: 'object', required: ['country'], properties: { country: { type: 'string' } } },
  limits: { maxItems: 10, maxBytes: 200 },
  request: {
    method: 'POST',
    url: 'http://127.0.0.1:9/_bulk',
    headers: { authorization: { env: 'API_KEY', prefix: 'Bearer ' } },
    encode: 'ndjson',
    item: [{ index: { _id: '{{id}}' } }, '{{payload}}'],
  },
  response: { results: 'items', matchBy: 'position', status: { path: 'status', ok: [200] } },
};

test('the batches that would be formed, and what the first call gets; nothing is sent [H11]', async () => {
  write('muster.config.ts', CONFIG);
  const tasks = Array.from({ length: 120 }, (_, i) => order(`t-${i}`, i % 2 === 0 ? 'se' : 'no', i));
  write('tasks.ndjson', lines(tasks));
  const text = await run(['try', 'orders', '--file', 'tasks.ndjson']);
  expect(text).toMatchObject({ code: 0, stderr: '' });
  expect(text.stdout).toContain('120 tasks would go in 4 batches');
  expect(text.stdout).toContain('t-0  {"country":"se","n":0}');
  const json = (await run(['try', 'orders', '--file', 'tasks.ndjson', '--json'])).json<{ batches: object[] }>();
  expect(json.batches).toEqual([
    expect.objectContaining({ target: 'se', items: 50, reason: 'size' }),
    expect.objectContaining({ target: 'se', items: 10, reason: 'linger' }),
    expect.objectContaining({ target: 'no', items: 50, reason: 'size' }),
    expect.objectContaining({ target: 'no', items: 10, reason: 'linger' }),
  ]);
  expect(downstream.calls).toEqual([]);
});

test('--send makes the first call only, and says how its answer is understood [H11]', async () => {
  const tasks = [order('a', 'se', 2), order('b', 'se', 3, 'failed'), order('c', 'no')];
  const sent = await run(['try', 'orders', '--file', '-', '--send', '--json'], lines(tasks));
  expect(sent.code).toBe(1);
  expect(sent.json()).toMatchObject({
    outcome: {
      ok: false,
      outcome: { kind: 'results', deviants: [{ index: 1, status: 'failed', error: 'no such thing' }] },
      results: [{ id: 'a', result: { double: 4 } }],
    },
  });
  expect(downstream.calls).toEqual([{ target: 'se', ids: ['a', 'b'] }]);
});

test('with coalesceBy, what would not be sent is counted, and named by line', async () => {
  write(
    'coalescing.json',
    JSON.stringify([{ ...HTTP, coalesceBy: 'country', limits: { maxItems: 10 }, target: { constant: 'all' } }]),
  );
  const tasks = [order('a', 'se', 1), order('b', 'no', 2), order('c', 'se', 3)];
  const args = ['try', 'index', '--file', '-', '--config', 'coalescing.json'];
  const text = await run(args, lines(tasks));
  expect(text.stdout).toContain('3 tasks would go in 1 batch (1 not sent, for later ones of their coalesceBy keys):');
  const json = (await run([...args, '--json'], lines(tasks))).json<{ batches: object[] }>();
  expect(json.batches).toEqual([expect.objectContaining({ items: 2, lines: [3, 2], superseded: [1] })]);
});

test('the call of a handler in JSON, encoded, without its secret [H10 H11]', async () => {
  write('http.json', JSON.stringify([HTTP]));
  const args = ['try', 'index', '--config', 'http.json', '--file', '-'];
  const tasks = Array.from({ length: 5 }, (_, i) => ({
    id: `d-${i}`,
    payload: { country: 'se', text: 'some text of its own' },
  }));
  const text = await run(args, lines(tasks));
  expect(text.stdout).toContain('POST http://127.0.0.1:9/_bulk');
  expect(text.stdout).toContain('{"index":{"_id":"d-0"}}\n  {"country":"se","text":"some text of its own"}');
  expect(text.stdout).not.toContain('hidden');
  const { batches } = (await run([...args, '--json'], lines(tasks))).json<{
    batches: { bytes: number; reason: string }[];
  }>();
  expect(batches.length).toBeGreaterThan(1);
  expect(batches[0]).toMatchObject({ reason: 'bytes' });
  for (const { bytes } of batches) expect(bytes).toBeLessThanOrEqual(200);
  const refused = await run([...args, '--send', '--json'], lines(tasks.slice(0, 1)));
  expect(refused.code).toBe(1);
  expect(refused.json()).toMatchObject({ outcome: { ok: false, outcome: { kind: 'later' } } });
});

test('a bad line and an unknown handler, as for submit', async () => {
  const bad = await run(['try', 'orders', '--file', '-'], '{"id":"a","payload":{"country":"se"}}');
  expect(bad.code).toBe(2);
  expect(bad.stderr).toMatch(/line 1 \(id "a"\), payload\.n: /);
  expect((await run(['try', 'nope', '--file', '-'])).code).toBe(2);
});
