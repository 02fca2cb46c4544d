import type { Fleet } from '../executions/helpers';
import { openFleet } from '../executions/helpers';
import { PAGE_BYTES } from '../../workers/api/bodies/memory';
import { follow } from './events';
import type { ApiWorld } from './world';
import { openWorld } from './world';

/** Executions over HTTP (E1, E2, E13), with nodes that run them. @slow */

let fleet: Fleet;
let world: ApiWorld;
beforeAll(async () => {
  fleet = await openFleet({
    echo: async (args) => args.join(' '),
    hang: async (_args, { signal }) =>
      new Promise<string>((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
  });
  await fleet.node({ topics: ['t'] });
  await fleet.node({ topics: ['t'] });
  world = await openWorld({ muster: fleet });
});
afterAll(async () => {
  await world.stop();
  await fleet.stop();
});

const start = async (functionId: string, lists: string[][], more: object = {}) =>
  world.call('POST /v1/executions', {
    body: {
      template: { function_id: functionId, method: 'run', config: { number_of_nodes: 2 } },
      arguments: lists,
      topic: 't',
      max_attempts: 2,
      ...more,
    },
  });
const lists = (n: number): string[][] => Array.from({ length: n }, (_, i) => [`item-${i}`]);

test('a request is answered at once with its request_id; status, progress, items, chunks at any time [E1 E2]', async () => {
  const started = await start('echo', lists(20));
  expect(started).toMatchObject({
    status: 202,
    body: {
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      code: '202',
      message: 'Accepted: items: 20, nodes that can run them now: 2.',
    },
  });
  const at = `/v1/executions/${started.body.request_id}`;
  const done = await world.call(`GET ${at}?wait=60`);
  expect(done.body).toMatchObject({
    state: 'done',
    items: 20,
    topic: 't',
    functionId: 'echo',
    method: 'run',
    config: { numberOfNodes: 2 },
    counts: { created: 0, inProgress: 0, done: 20, failed: 0, permanentlyFailed: 0 },
  });
  expect((await world.call(`GET ${at}/progress`)).body).toEqual({
    state: 'done',
    items: 20,
    share: 1,
    counts: done.body.counts,
  });
  expect((await world.call(`GET ${at}/chunks`)).body.chunks).toHaveLength(2);
  const page = await world.call(`GET ${at}/items?limit=15`);
  expect([page.body.items.length, page.body.next]).toEqual([15, 14]);
  const rest = await world.call(`GET ${at}/items?limit=15&after=14`);
  expect([rest.body.items.length, rest.body.next]).toEqual([5, undefined]);
  expect(rest.body.items[0]).toMatchObject({ position: 15, state: 'done', arguments: ['item-15'], stdout: 'item-15' });
  expect((await world.call('GET /v1/executions?limit=1')).body.executions[0]).toMatchObject({
    id: started.body.request_id,
  });
});

test('the result document; in pages it is the same, whatever their size [E13]', async () => {
  const { request_id: id } = (await start('echo', [...lists(9), ['item-0'], ['item-0']])).body;
  await world.call(`GET /v1/executions/${id}?wait=60`);
  const whole = (await world.call(`GET /v1/executions/${id}/results`)).body;
  expect(whole).toEqual(await world.client.execution(id).results());
  expect(whole).toMatchObject({ code: '200', request_id: id });
  const keys = Object.values(whole.chunks as Record<string, { peer: string; results: object }>).flatMap(({ results }) =>
    Object.keys(results),
  );
  expect(keys).toHaveLength(11);
  expect(keys.filter((key) => /#[23]$/.test(key))).toHaveLength(2);
  for (const limit of [1, 3, 11, 12]) {
    const joined: Record<string, { peer: string; results: object }> = {};
    let pages = 0;
    for (let after: string | undefined = ''; after !== undefined; pages++) {
      const page = (
        await world.call(`GET /v1/executions/${id}/results?limit=${limit}${after === '' ? '' : `&after=${after}`}`)
      ).body;
      for (const [chunk, { peer, results }] of Object.entries(page.chunks as typeof joined))
        joined[chunk] = { peer, results: { ...joined[chunk]?.results, ...results } };
      after = page.next as string | undefined;
    }
    expect(joined).toEqual(whole.chunks);
    expect(pages).toBe(Math.ceil(11 / limit));
  }
  // Ended by bytes: every page has at least one result, and together they have all.
  for (const maxBytes of [1, 20, 1_000_000]) {
    const joined: typeof whole.chunks = {};
    for (let after: string | undefined = ''; after !== undefined;) {
      const page = await world.client
        .execution(id)
        .resultPage({ limit: 1_000, maxBytes, ...(after === '' ? {} : { after }) });
      for (const [chunk, { peer, results }] of Object.entries(page.chunks))
        joined[chunk] = { peer, results: { ...joined[chunk]?.results, ...results } };
      after = page.next;
    }
    expect(joined).toEqual(whole.chunks);
  }
  expect(await world.call(`GET /v1/executions/${id}/results?after=x`)).toMatchObject({
    status: 400,
    body: { errors: [{ field: 'after' }] },
  });
});

interface Page {
  items: { position: number }[];
  chunks: Record<string, { results: object }>;
}
test('a page of large items or results is cut by its bytes, and leads to the next; a lookup of them is refused', async () => {
  const { request_id: id } = (await start('echo', lists(80))).body;
  await world.call(`GET /v1/executions/${id}?wait=60`);
  await world.database.pool.query({
    text: `update work_item set stdout = repeat('o', 65536), stderr = repeat('e', 65536) where execution_id = $1`,
    values: [id],
  });
  const pagesOf = async (list: string, keysIn: (page: Page) => string[]): Promise<string[][]> => {
    const pages: string[][] = [];
    for (let after = ''; pages.length < 10;) {
      const { status, text, body } = await world.call(`GET /v1/executions/${id}/${list}?limit=10000${after}`);
      expect([status, text.length < 1.1 * PAGE_BYTES]).toEqual([200, true]);
      pages.push(keysIn(body));
      if (body.next === undefined) break;
      after = `&after=${body.next}`;
    }
    return pages;
  };
  const items = await pagesOf('items', (page) => page.items.map(({ position }) => String(position)));
  const results = await pagesOf('results', (page) =>
    Object.values(page.chunks).flatMap((chunk) => Object.keys(chunk.results)),
  );
  for (const pages of [items, results]) {
    expect([pages.length, new Set(pages.flat()).size, pages.flat().length]).toEqual([2, 80, 80]);
    expect(pages[0]!.length).toBeGreaterThan(50);
  }
  const ids = Array.from({ length: 70 }, (_, i) => `large-${i}`);
  const tasks = ids.map((task) => ({ id: task, payload: { to: 'l', note: 'x'.repeat(250_000) } }));
  for (const part of [tasks.slice(0, 35), tasks.slice(35)]) await world.client.submit('items', part);
  const lookUp = (of: string[]) => world.call('POST /v1/tasks:lookup', { body: { ids: of } });
  expect(await lookUp(ids)).toMatchObject({ status: 413, body: { code: 'ANSWER_TOO_LARGE' } });
  expect((await lookUp(ids.slice(0, 20))).body.tasks).toHaveLength(20);
});

test('cancel: what runs is interrupted, the stream of its progress ends [E2]', async () => {
  const { request_id: id } = (await start('hang', lists(4))).body;
  const stream = await follow(`${world.api.url}/v1/executions/${id}/events`);
  expect((await world.call(`POST /v1/executions/${id}/cancel`)).body).toMatchObject({ state: 'cancelled' });
  await stream.over;
  expect(stream.events.at(-1)).toMatchObject({ name: 'end', data: { state: 'cancelled' } });
  expect((await world.call(`POST /v1/executions/${id}/cancel`)).body).toMatchObject({ state: 'cancelled' });
});

test('no node: it stays created and says so; listed with the others [E2]', async () => {
  const { request_id: id } = (await start('nobody has this', lists(1))).body;
  expect((await world.call(`GET /v1/executions/${id}`)).body).toMatchObject({
    state: 'created',
    counts: { created: 1 },
  });
  expect((await world.call('GET /v1/nodes')).body.nodes).toMatchObject([{ batch: true, alive: true }, { batch: true }]);
});

test('a list that is refused at its end stores nothing: a corrected repeat runs none of it', async () => {
  const answer = await start('refused late', [...lists(10_000), ['\0']]); // beyond what is stored at once
  expect([answer.status, answer.body.code]).toEqual([422, 'INVALID_ARGUMENT']);
  const { rows } = await fleet.database.pool.query(`select from execution where function_id = 'refused late'`);
  expect(rows).toEqual([]);
});
