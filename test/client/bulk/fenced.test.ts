import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import type { BulkStart, Client, CodecContext, PayloadCodec } from '../../../client';
import { makeBulkStep } from '../../../client/bulk/step';
import { claimStep } from '../../../postgres/bulk/steps';
import { BulkActions } from '../../../workers/bulk/bulkActions';
import { eventually } from '../../helpers/eventually';
import type { Shop } from '../shop';
import { broken, itemHandler, items, openShop } from '../shop';
import { afterChoice, made, makeSteps } from './made';
import { encoding as codedBy } from './patching';

/** Bulk actions while workers of several versions run. @slow */

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
  await shop.client.submit('items', [...items('se', 'a', 'b', 'c'), ...items('no', 'd')]);
});
afterEach(async () => {
  await shop.pool.query('delete from bulk_action');
  expect(await broken(shop.client)).toEqual({});
});
afterAll(() => shop.stop());

/** What a worker of before migration 000027 finds, by its own statement. */
const foundByOlder = async (): Promise<string[]> => {
  const { rows } = await shop.pool.query<{ id: string }>(`
select b.id from bulk_action b join handler h on h.id = b.handler_id
where b.due_at <= clock() order by b.due_at limit 1`);
  return rows.map(({ id }) => id);
};
/** What its steps did to a row. */
const STEP_OF_OLDER = `
update bulk_action set state = 2 /* done */, due_at = null, finished_at = clock() where id = $1`;

const update = (action: object, where: object = {}): BulkStart => ({
  handler: 'items',
  where,
  action: { do: 'update', ...action },
});

test.each<[string, BulkStart]>([
  ['one task', update({ priority: 3 }, { id: 'a' })],
  ['one task, cancelled', { handler: 'items', where: { id: 'c' }, action: { do: 'cancel' } }],
  ['other payloads', update({ payloadPatch: { note: 'n' } })],
  ['an expiry', update({ expiresAt: '2099-01-01' })],
  ['no expiry', update({ expiresAt: null, priority: 4 })],
])('a worker of the version before leaves alone what it would make wrongly: %s', async (_what, input) => {
  const { id } = await shop.client.bulk.start(input);
  const seen: string[] = [];
  for (let i = 0; i < 9; i++) {
    seen.push(...(await foundByOlder()));
    if ((await makeBulkStep(shop.client, { handlers: new Map([['items', shop.handler]]) })) === null) break;
  }
  expect(seen).toEqual([]);
  expect(await shop.client.bulk.get(id)).toMatchObject({ state: 'done', failed: 0 });
  expect((await shop.client.bulk.get(id))!.done).toBeGreaterThan(0);
});

test('it makes and stops all others, and what it may not make it stops', async () => {
  const { id } = await shop.client.bulk.start(update({ priority: 7 }));
  expect(await foundByOlder()).toEqual([id]);
  await shop.pool.query(STEP_OF_OLDER, [id]);
  const fenced = await shop.client.bulk.start(update({ priority: 8 }, { id: 'd' }));
  // The statement of its `stop`.
  await shop.pool.query({
    text: `
update bulk_action set state = 3 /* stopped */, due_at = null, finished_at = clock(), changed_at = clock()
where id = $1 and due_at is not null`,
    values: [fenced.id],
  });
  expect(await makeSteps(shop.client)).toBe(0);
  expect(await shop.client.bulk.get(fenced.id)).toMatchObject({ state: 'stopped', done: 0 });
});

test('a failed step of a hidden action is tried again later, and stays hidden', async () => {
  const { id } = await shop.client.bulk.start(update({ expiresAt: '2098-01-01' }));
  await shop.pool.query(`update bulk_action set place = '{"source": 0, "place": ["x"]}'`);
  expect(await makeBulkStep(shop.client)).toMatchObject({ id, failure: expect.any(Error) as Error });
  expect(await foundByOlder()).toEqual([]);
  expect(await makeBulkStep(shop.client)).toBeNull();
  const { rows } = await shop.pool.query(`
select due_at = 'infinity' as hidden, step_at > created_at + interval '900 ms' as later from bulk_action`);
  expect(rows).toEqual([{ hidden: true, later: true }]);
});

test('this version leaves alone what a later one started with more fields, says which, and makes others', async () => {
  const start = async (): Promise<string> => (await shop.client.bulk.start(update({ priority: 5 }))).id;
  const later = [await start(), await start(), await start()];
  const change = (id: string, column: string, json: string): Promise<unknown> =>
    shop.pool.query(
      `update bulk_action set ${column} = ${column} || $2::jsonb,
      due_at = clock() - interval '1 minute' where id = $1`,
      [id, json],
    );
  await change(later[0]!, 'filter', '{"colour": "red"}');
  await change(later[1]!, 'action', '{"shade": 5}');
  await change(later[2]!, 'action', '{"do": "freeze"}');
  const view = await made(shop.client, update({ priority: 6 }), shop.handler);
  expect(view).toMatchObject({ state: 'done' });
  const errors = await Promise.all(later.map(async (id) => (await shop.client.bulk.get(id))!));
  expect(errors.map(({ state }) => state)).toEqual(['counting', 'counting', 'counting']);
  expect(errors.map(({ error }) => error)).toEqual([
    'this worker does not know where.colour: it waits for a worker of a later version',
    'this worker does not know action.shade: it waits for a worker of a later version',
    'this worker does not know the action freeze: it waits for a worker of a later version',
  ]);
});

test('a worker that gets the lease of the sweeper amid its steps makes all actions from then on', async () => {
  const start = async (input: BulkStart): Promise<string> => (await shop.client.bulk.start(input)).id;
  const plain = await start({ handler: 'items', where: { tag: 'none' }, action: { do: 'cancel' } });
  const hidden = await start(update({ payloadPatch: { to: 'elsewhere' } })); // no task gets it
  const { pool, client, handler } = shop;
  const actions = new BulkActions({
    ...{ pool, prefix: client.prefix, requests: null as never, log: pino({ level: 'silent' }) },
    handlers: new Map([['items', handler]]),
  });
  const counts = { bulkTasks: 0 };
  afterChoice(async () => {
    expect(await client.bulk.get(plain)).toMatchObject({ state: 'counting' });
    actions.begin(counts, true);
  });
  actions.begin(counts, false);
  await eventually(async () => (await client.bulk.get(hidden))!.state === 'done');
  await eventually(async () => (await client.bulk.get(plain))!.state === 'done', { timeoutMs: 5_000 });
  await actions.stop();
  jest.restoreAllMocks();
});

test('of steps that fail a worker logs the first, and of those that it makes none', async () => {
  const logged: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) });
  const { pool, client, handler } = shop;
  const actions = new BulkActions({
    ...{ pool, prefix: client.prefix, requests: null as never, log },
    handlers: new Map([['items', handler]]),
  });
  const isMade = (id: string) =>
    eventually(async () => {
      actions.begin({ bulkTasks: 0 });
      return (await client.bulk.get(id))!.state === 'done';
    });
  await isMade((await client.bulk.start(update({ priority: 8 }))).id);
  expect(logged).toEqual([]);
  const { id } = await client.bulk.start(update({ priority: 9 }));
  await pool.query(`update bulk_action set place = '{"source": 0, "place": ["x"]}' where id = $1`, [id]);
  actions.begin({ bulkTasks: 0 });
  await eventually(async () => (await client.bulk.get(id))!.error !== null);
  await pool.query('update bulk_action set place = null, due_at = clock() where id = $1', [id]);
  await isMade(id);
  await actions.stop();
  expect(logged.map((line) => (JSON.parse(line) as { bulk: string }).bulk)).toEqual([id]);
});

/** A client whose codec counts the payloads that it encodes, and waits for `encoding` meanwhile. */
const counting = (): { client: Client; encoded: string[]; encoding: { wait: () => Promise<unknown> } } => {
  const encoded: string[] = [];
  const encoding = { wait: () => Promise.resolve<unknown>(null) };
  const payloadCodec: PayloadCodec = {
    encode: async (payloads, context) => {
      const { kind, taskIds } = context as CodecContext;
      if (kind !== 'payload') return payloads;
      encoded.push(...taskIds.map(String));
      await encoding.wait();
      return payloads;
    },
    decode: async (payloads) => payloads,
  };
  return { client: codedBy(shop, { payloadCodec }), encoded, encoding };
};

test('several workers make each step of a hidden action once: they do not even decide twice', async () => {
  const { client, encoded, encoding } = counting();
  encoding.wait = () => sleep(50);
  const { id } = await client.bulk.start(update({ payloadPatch: { note: 'once' } }));
  await Promise.all([1, 2, 3].map(() => makeSteps(client, shop.handler)));
  await eventually(async () => (await client.bulk.get(id))!.state === 'done');
  expect(await client.bulk.get(id)).toMatchObject({ done: 3, skipped: 0, failed: 0 });
  expect(encoded.sort()).toEqual(['a', 'b', 'd']);
  await client.close();
});

test('a step that hangs is left to others after a while, and changes nothing when it goes on', async () => {
  const { client, encoding } = counting();
  const { id } = await client.bulk.start(update({ payloadPatch: { note: 'hung' } }));
  const known = { handlers: new Map([['items', shop.handler]]), leaseMs: 15 };
  await makeBulkStep(client, known); // counts
  let end = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    encoding.wait = () => {
      resolve();
      return new Promise<void>((ended) => (end = ended));
    };
  });
  const hanging = makeBulkStep(client, known);
  await begun;
  encoding.wait = () => Promise.resolve();
  const other = await eventually(() => makeBulkStep(client, known));
  expect(other).toMatchObject({ id, done: 3, failure: null });
  end();
  expect(await hanging).toMatchObject({ id, done: 0, failure: null });
  expect(await client.bulk.get(id)).toMatchObject({ state: 'done', done: 3, skipped: 0, failed: 0 });
  await client.close();
});

test('a step is kept from others as long as it is made, and no longer than its maker lives', async () => {
  const { client, encoded, encoding } = counting();
  const { id } = await client.bulk.start(update({ payloadPatch: { note: 'kept' } }));
  const known = { handlers: new Map([['items', shop.handler]]), leaseMs: 300 };
  await makeBulkStep(client, known); // counts
  let end = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    encoding.wait = () => {
      resolve();
      return new Promise<void>((ended) => (end = ended));
    };
  });
  const step = makeBulkStep(client, known);
  await begun;
  const held = Date.now();
  while (Date.now() < held + 900) expect(await makeBulkStep(client, known)).toBeNull();
  end();
  expect(await step).toMatchObject({ id, done: 3, failure: null });
  expect(encoded).toHaveLength(3);
  // One that was killed renews nothing.
  const killed = await client.bulk.start(update({ payloadPatch: { note: 'killed' } }));
  const { rows } = await shop.pool.query<{ step: number }>('select step::int as step from bulk_action where id = $1', [
    killed.id,
  ]);
  expect(await claimStep(shop.pool, killed.id, rows[0]!.step, 300)).toBe(true);
  expect(await claimStep(shop.pool, killed.id, rows[0]!.step, 300)).toBe(false);
  expect(await makeBulkStep(client, known)).toBeNull();
  encoding.wait = () => Promise.resolve();
  await eventually(async () => (await makeBulkStep(client, known)) !== null);
  await client.close();
});

test('a worker whose handler is older than that of the start leaves payloads to others', async () => {
  await shop.client.submit('items', items('fi', 'v1', 'v2'));
  const newer = itemHandler({ payloadVersion: 3, upcast: (payload) => payload as never });
  const client = codedBy(shop, { handlers: [newer] });
  const { id, action } = await client.bulk.start(update({ payloadPatch: { note: 'v3' } }, { id: 'v1' }));
  expect(action).toEqual({ do: 'update', payloadPatch: '{"note":"v3"}', payloadVersion: 3 });
  const second = itemHandler({ payloadVersion: 2, upcast: (payload) => payload as never });
  expect(await makeSteps(client, shop.handler)).toBe(0);
  expect(await makeSteps(client, second)).toBe(0);
  expect(await makeSteps(client, newer)).toBe(2);
  expect(await client.bulk.get(id)).toMatchObject({ state: 'done', done: 1 });
  await client.close();
  // Started without the handler's code: any that has it.
  const bare = codedBy(shop, { handlers: [] });
  const started = await bare.bulk.start(update({ payloadPatch: { note: 'any' } }, { id: 'v2' }));
  expect(started.action).toEqual({ do: 'update', payloadPatch: '{"note":"any"}' });
  expect(await makeSteps(bare, shop.handler)).toBe(2);
  await bare.close();
});

test('what no worker can make says what it waits for, also in lists', async () => {
  const { id } = await shop.client.bulk.start(update({ payloadPatch: { note: 'w' } }, { id: 'v2' }));
  const waits = async (): Promise<(string | null)[]> => {
    const { actions } = await shop.client.bulk.list({ open: true });
    return [(await shop.client.bulk.get(id))!.waitsFor, ...actions.map(({ waitsFor }) => waitsFor)];
  };
  const since = (seconds: number): Promise<unknown> =>
    shop.pool.query(`update bulk_action set step_at = clock() - $1 * interval '1 s' where due_at is not null`, [
      seconds,
    ]);
  expect(await waits()).toEqual([null, null]);
  await since(15);
  expect(await waits()).toEqual(Array(2).fill('a worker: none runs'));
  await shop.pool.query(`
insert into node (id, task_queue, handlers, started_at, seen_at)
values ('n', 'q', '{other}', clock(), clock()), ('gone', 'q', '{items}', clock(), clock() - interval '1 hour')`);
  expect(await waits()).toEqual(Array(2).fill('a worker that has handler "items"'));
  await shop.pool.query(`update node set handlers = '{other,items}' where id = 'n'`);
  expect(await waits()).toEqual([null, null]);
  await since(65);
  const older = 'its turn, or a worker of this version of Muster or later that has handler "items"';
  expect(await waits()).toEqual([older, older]);
  await makeSteps(shop.client, shop.handler);
  expect((await shop.client.bulk.get(id))!.waitsFor).toBeNull();
  await shop.pool.query('delete from node');
});
