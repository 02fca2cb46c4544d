import type { ApiHome, ApiProcess } from '../api/child';
import { createHome } from '../api/child';
import { createClient } from '../../client';
import { defineHandler } from '../../handlers';
import { rounds } from '../helpers/long';
import { MEMORY_MB, peakMb, startSmallApi } from './apiWithLittleMemory';
import { Tally } from './tally';

/**
 * Requests whose answers would fill the memory of an API with little of it.
 *
 * @full
 */

const tally = new Tally('HTTP API: greedy answers');
const TASKS = rounds(60, 200);
const ITEMS = rounds(600, 10_000);
const AT_ONCE = rounds(8, 60);

let home: ApiHome;
let api: ApiProcess;
let tokens: readonly string[];
let execution: string;
beforeAll(async () => {
  home = await createHome();
  ({ api, tokens } = await startSmallApi(home));
  await fillTasks();
  execution = await fillExecution();
});
afterAll(() => home.close());

const ids = (n: number): string[] => Array.from({ length: n }, (_, i) => `large-${i}`);

/** Payloads of a megabyte, past the API, whose bodies are smaller. */
const fillTasks = async (): Promise<void> => {
  const greedy = defineHandler({
    name: 'greedy',
    target: () => 'all',
    limits: { maxItems: 50, maxBytes: 67_108_864 },
    linger: { lingerMs: 3_600_000 },
    maxPayloadBytes: 67_108_864,
    submit: async () => ({ results: [] }),
  });
  const client = createClient({
    databaseUrl: home.database.url,
    handlers: [greedy],
    prefix: home.env['MUSTER_PREFIX']!,
    temporal: { address: home.env['TEMPORAL_ADDRESS']! },
  });
  const payload = 'x'.repeat(1_000_000);
  const all = ids(TASKS).map((id) => ({ id, payload }));
  for (let from = 0; from < TASKS; from += 20) await client.submit('greedy', all.slice(from, from + 20));
  await client.close();
};

/** Results as large as they are kept. */
const fillExecution = async (): Promise<string> => {
  const body = { template: { function_id: 'f', method: 'm' }, arguments: Array.from({ length: ITEMS }, () => ['a']) };
  const started = await api.call('POST /v1/executions', { body, token: tokens[0]! });
  const id = started.body.request_id as string;
  const { pool } = home.database;
  await pool.query({
    text: `insert into chunk (id, execution_id, round, place, epoch, node_id, state, n, n_open, created_at, finished_at)
      values ($1, $1, 1, 1, 1, 'node', 100, $2, 0, clock(), clock())`,
    values: [id, ITEMS],
  });
  await pool.query({
    text: `update work_item set state = 100, chunk_id = $1, exit_code = 0, stdout = repeat('o', 65536),
        stderr = repeat('e', 65536) where execution_id = $1`,
    values: [id],
  });
  return id;
};

const EXPECTED = [200, 413, 429, 503];

test(`lookups and pages of megabytes each: cut or refused, and the process stays below`, async () => {
  const requests: Readonly<Record<string, () => [route: string, body?: object]>> = {
    'a lookup of all tasks': () => ['POST /v1/tasks:lookup', { ids: ids(TASKS) }],
    'a lookup of 15 MB': () => ['POST /v1/tasks:lookup', { ids: ids(15) }],
    'a task of a megabyte': () => ['GET /v1/tasks/large-1'],
    'a page of all items': () => [`GET /v1/executions/${execution}/items?limit=10000`],
    'a page of all results': () => [`GET /v1/executions/${execution}/results?limit=10000`],
    'a wait for a task of a megabyte': () => ['GET /v1/tasks/large-2?wait=1'],
  };
  for (const [what, make] of Object.entries(requests)) {
    const [route, body] = make();
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, at) =>
        api.call(route, { body, token: tokens[at % tokens.length]! }).catch(() => ({ status: 0, text: '' })),
      ),
    );
    for (const { status, text } of answers) {
      const isFine = EXPECTED.includes(status) && text.length < 20_000_000;
      tally.add(what, isFine ? null : `status ${status}, ${text.length} characters`);
    }
    // At its limits it asks some to come again; it does not refuse them all.
    if (what !== 'a lookup of all tasks') expect(answers.map(({ status }) => status)).toContain(200);
  }
  const peak = peakMb(api);
  tally.add('all of them', peak < MEMORY_MB ? null : `${peak} MB at its peak`);
  expect(await api.call('POST /v1/tasks:lookup', { body: { ids: ids(TASKS) }, token: tokens[0]! })).toMatchObject({
    status: 413,
    body: { code: 'ANSWER_TOO_LARGE', errors: [{ field: 'ids' }] },
  });
  tally.expectNoneThrough(AT_ONCE * 6 + 1);
});

test('pages that were cut lead to all items and results', async () => {
  const positions: number[] = [];
  for (let after = -1, isLast = false; !isLast;) {
    const page = await api.call(`GET /v1/executions/${execution}/items?limit=10000&after=${after}`, {
      token: tokens[1]!,
    });
    positions.push(...(page.body.items as { position: number }[]).map(({ position }) => position));
    isLast = page.body.next === undefined;
    after = page.body.next as number;
  }
  expect(positions).toEqual(Array.from({ length: ITEMS }, (_, i) => i));
  const keys = new Set<string>();
  let pages = 0;
  for (let after = '', isLast = false; !isLast; pages++) {
    const page = await api.call(`GET /v1/executions/${execution}/results?limit=10000${after}`, { token: tokens[1]! });
    const chunk = (page.body.chunks as Record<string, { results: object }>)[execution]!;
    for (const key of Object.keys(chunk.results)) keys.add(key);
    isLast = page.body.next === undefined;
    after = `&after=${page.body.next}`;
  }
  expect(keys.size).toBe(ITEMS);
  expect(pages).toBeGreaterThan(ITEMS / 120);
});
