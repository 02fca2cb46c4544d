import { z } from 'zod';
import type { Batch, CallContext, Client, Contract, EncodedPayload, PayloadCodec } from '../../client';
import { createClient, defineContract, defineHandler, implement } from '../../client';
import { anotherNode } from '../helpers/anotherNode';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';
import { NO_TEMPORAL } from '../helpers/database';

/** Tasks that the release before has accepted, or that the next one has. @slow */

interface Order {
  shop: string;
  total: { amount: number; currency: string };
}
const base = { name: 'orders', limits: { maxItems: 100 } };
/** The payloads of the release before: `total` is a number. */
const first = defineContract<{ shop: string; total: number | string }>({ ...base, target: ({ shop }) => shop });
const schema = z.object({
  shop: z.string(),
  total: z.object({ amount: z.number(), currency: z.string().default('SEK') }),
});
let upcasts = 0;
const second = defineContract({
  ...base,
  schema,
  target: ({ shop }) => shop,
  payloadVersion: 2,
  upcast: (payload, fromVersion) => {
    upcasts++;
    const { shop, total } = payload as { shop: string; total: number };
    if (total < 0) throw new Error(`no total of version ${fromVersion} is below 0`);
    return { shop, total: { amount: total } };
  },
});
const third = defineContract<Order & { paid: boolean }>({ ...base, target: ({ shop }) => shop, payloadVersion: 3 });

const sent: { target: string; payloads: unknown[] }[] = [];
const noted = async ({ target, tasks }: Pick<Batch, 'target' | 'tasks'>) => {
  sent.push({ target, payloads: tasks.map(({ payload }) => payload) });
  return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
};
const retry = { maxAttempts: 2, delayed: { baseMs: 50, maxMs: 100 } };
const orders = implement(second, { linger: { lingerMs: 300 }, retry, submit: noted });
const bareContract = { name: 'bare', limits: { maxItems: 10 }, target: () => 'x' };
const bare = defineHandler({ ...bareContract, payloadVersion: 5, retry, linger: { lingerMs: 50 }, submit: noted });

const asked: unknown[] = [];
const unsure = {
  name: 'unsure',
  limits: { maxItems: 10 },
  target: () => 'one',
  payloadVersion: 2,
  upcast: (payload: unknown) => ({ was: payload }),
};
const looked = defineHandler({
  ...unsure,
  linger: { lingerMs: 50 },
  submit: () => Promise.reject(new Error('the connection broke')),
  reconcile: async ({ tasks }: Batch, _: CallContext) => {
    asked.push(tasks.map(({ payload }) => payload));
    return { status: 'done' as const, results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
  },
});
const ledger = {
  name: 'ledger',
  limits: { maxItems: 10 },
  lane: {},
  target: ({ account }: { account: string }) => account,
  service: (target: string) => target,
};
const lanes = defineHandler({
  ...ledger,
  payloadVersion: 2,
  upcast: (payload) => ({ ...(payload as { account: string }), upcast: true }),
  submit: noted,
});

const LIMIT = { timeoutMs: 60_000 };
const toPlain = (target: string) => sent.filter((one) => one.target === target).flatMap(({ payloads }) => payloads);

let muster: TestMuster;
const others: Client[] = [];
/** A client of another release, on the same store. */
const clientOf = (contracts: readonly Contract[], options: { payloadCodec?: PayloadCodec } = {}): Client => {
  const { database, prefix } = muster;
  const client = createClient({ databaseUrl: database.url, handlers: contracts, prefix, ...options });
  others.push(client);
  return client;
};
beforeAll(async () => {
  muster = await startMuster([orders, bare, looked, lanes]);
});
afterAll(async () => {
  await expectWhole(muster.client);
  for (const client of others) await client.close();
  await muster.stop();
});

test('a task of the release before goes through upcast and the schema; one of today does not', async () => {
  const old = clientOf([first]);
  const { client } = muster;
  await old.submit(first, { id: 'old', payload: { shop: 'lund', total: 5 } });
  await client.submit(second, { id: 'new', payload: { shop: 'lund', total: { amount: 6 } } });
  expect(await client.getTask('old')).toMatchObject({ payloadVersion: 1, payload: { total: 5 } });
  expect(await old.getTask('old')).not.toHaveProperty('payloadVersion');
  expect(await client.getTask('new')).not.toHaveProperty('payloadVersion');
  const listed = await client.tasks.list('orders', { state: 'created' });
  expect(listed.tasks.map(({ id, payloadVersion }) => [id, payloadVersion])).toEqual([
    ['old', 1],
    ['new', undefined],
  ]);
  await client.waitFor(['old', 'new'], LIMIT);
  expect(toPlain('lund')).toEqual([
    { shop: 'lund', total: { amount: 5, currency: 'SEK' } },
    { shop: 'lund', total: { amount: 6, currency: 'SEK' } },
  ]);
  expect(upcasts).toBe(1);
});

test('an old task whose upcast fails, or does not fit, dies alone with the versions and the remedy', async () => {
  const old = clientOf([first]);
  await old.submit(first, [
    ...['a', 'b', 'c', 'd'].map((id) => ({ id, payload: { shop: 'oslo', total: 1 } })),
    { id: 'below', payload: { shop: 'oslo', total: -1 } },
    { id: 'text', payload: { shop: 'oslo', total: 'much' } },
  ]);
  const ended = await muster.client.waitFor(['a', 'b', 'c', 'd', 'below', 'text'], LIMIT);
  expect(ended.map(({ state }) => state)).toEqual([...'abcd'].map(() => 'succeeded').concat('dead', 'dead'));
  expect(ended[4]!.error).toBe(
    'not sent: the payload of task "below" cannot be used: ' +
      'the upcast of handler "orders" from version 1 to 2 failed: ' +
      'no total of version 1 is below 0. Mend it, then redrive the task',
  );
  expect(ended[5]!.error).toMatch(/from version 1 to 2 failed: payload\.total\.amount: .*expected number/);
  expect(toPlain('oslo')).toHaveLength(4);
});

test('an old task without an upcast is never sent: its error says what to do', async () => {
  const old = clientOf([defineContract({ ...bareContract, payloadVersion: 4 })]);
  await old.submit('bare', { id: 'lost', payload: 'x' });
  await muster.client.submit('bare', { id: 'found', payload: 'y' });
  const [lost, found] = await muster.client.waitFor(['lost', 'found'], LIMIT);
  expect([lost!.state, found!.state]).toEqual(['dead', 'succeeded']);
  expect(lost!.error).toBe(
    'not sent: the payload of task "lost" cannot be used: ' +
      'expected version 5 of the payloads of handler "bare", got 4, ' +
      'and it has no upcast. Give it upcast(payload, fromVersion), then redrive the task',
  );
});

test('a newer task waits for a worker with the newer code, at no attempt, and explain says so', async () => {
  const next = clientOf([third]);
  const payload = { shop: 'rome', total: { amount: 1, currency: 'EUR' }, paid: true };
  await next.submit(third, { id: 'ahead', payload });
  const told = await eventually(async () => {
    const { text } = await muster.client.explain('ahead');
    return text.includes('version') ? text : null;
  });
  expect(told).toMatch(
    /task "ahead" is of version 3, and this worker knows handler "orders" up to version 2\. It waits for a worker/,
  );
  expect(toPlain('rome')).toEqual([]);
  const newer = await anotherNode(muster, [implement(third, { linger: { lingerMs: 300 }, retry, submit: noted })]);
  const [ended] = await muster.client.waitFor('ahead', LIMIT);
  await newer.stop();
  expect(ended).toMatchObject({ state: 'succeeded', attempts: 1, payloadVersion: 3 });
  expect(toPlain('rome')).toEqual([payload]);
});

test('a look-up gets the payloads of today, upcast once', async () => {
  const old = clientOf([defineContract({ ...unsure, payloadVersion: 1 })]);
  await old.submit('unsure', { id: 'gone', payload: 7 });
  await muster.client.waitFor('gone', LIMIT);
  expect(asked).toEqual([[{ was: 7 }]]);
});

test('items of a lane batch and tasks of a lane are upcast, too', async () => {
  const old = clientOf([defineContract(ledger)]);
  await old.batches.submit('ledger', 'a-1', [{ id: 'item', payload: { account: 'a-1' } }]);
  await old.submit('ledger', { id: 'single', payload: { account: 'a-1' } });
  await muster.client.waitFor(['item', 'single'], LIMIT);
  expect(toPlain('a-1')).toEqual(['item', 'single'].map(() => ({ account: 'a-1', upcast: true })));
});

test('a repeat in the form of today is the same task as the old one', async () => {
  const old = clientOf([first]);
  await old.submit(first, { id: 'twice', payload: { shop: 'nice', total: 9 } });
  const again = { id: 'twice', payload: { shop: 'nice', total: { amount: 9, currency: 'SEK' } } };
  expect(await muster.client.submit(second, again)).toMatchObject({ accepted: 0, repeated: 1 });
  const other = { ...again, payload: { ...again.payload, total: { amount: 10, currency: 'SEK' } } };
  await expect(muster.client.submit(second, other)).rejects.toMatchObject({ problems: [{ code: 'ID_CONFLICT' }] });
  await muster.client.cancel('twice');
});

test('the version is stored by every way in, and for the first version nothing is', async () => {
  const next = clientOf([third, defineContract({ ...ledger, payloadVersion: 7 }), defineContract(bareContract)]);
  const payload = (shop: string) => ({ shop, total: { amount: 1, currency: 'EUR' }, paid: true });
  const notBefore = Date.now() + 3_600_000;
  const later = (id: string, shop = 'bern') => ({ id, payload: payload(shop), notBefore });
  const client = await muster.database.pool.connect();
  await client.query('begin');
  await next.submit(third, later('way-tx'), { tx: client });
  await client.query('commit');
  client.release();
  await next.submit(
    third,
    Array.from({ length: 60 }, (_, i) => later(`way-copy-${i}`)),
  );
  await next.submit(third, { ...later('way-held'), dependsOn: ['way-tx'] });
  await next.submit('ledger', { id: 'way-lane', payload: { account: 'b-1' } });
  await next.batches.submit('ledger', 'b-1', [{ id: 'way-item', payload: { account: 'b-1' } }]);
  await next.submit('bare', { id: 'way-first', payload: 1, notBefore });
  const { rows } = await muster.database.pool.query(
    `select regexp_replace(id, '-[0-9]+$', '') as id, version, count(*)::int as n
     from task where id like 'way-%' group by 1, 2 order by 1`,
  );
  expect(rows).toEqual([
    { id: 'way-copy', version: 3, n: 60 },
    { id: 'way-first', version: null, n: 1 },
    { id: 'way-held', version: 3, n: 1 },
    { id: 'way-item', version: 7, n: 1 },
    { id: 'way-lane', version: 7, n: 1 },
    { id: 'way-tx', version: 3, n: 1 },
  ]);
});

/** Shifts each byte. */
const codec: PayloadCodec = {
  encode: async (payloads) => payloads.map(({ data }): EncodedPayload => ({ data: data!.map((byte) => byte ^ 7) })),
  decode: async (payloads) => payloads.map(({ data }): EncodedPayload => ({ data: data!.map((byte) => byte ^ 7) })),
};

test('with a payload codec a payload is decoded first', async () => {
  const own = await startMuster([orders], { payloadCodec: codec });
  const { database, prefix } = own;
  const old = createClient({
    databaseUrl: database.url,
    handlers: [first],
    prefix,
    payloadCodec: codec,
    temporal: NO_TEMPORAL,
  });
  await old.submit(first, { id: 'sealed', payload: { shop: 'york', total: 3 } });
  await own.client.waitFor('sealed', LIMIT);
  expect(toPlain('york')).toEqual([{ shop: 'york', total: { amount: 3, currency: 'SEK' } }]);
  await old.close();
  await own.stop();
});
