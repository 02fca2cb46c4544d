import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';
import { Checks } from '../../../client/tasks/calls/checks';
import { Overlap } from '../../../client/tasks/calls/overlap';
import { TargetIds } from '../../../client/targetIds';
import { defineHandler } from '../../../handlers';
import { createPool, inTransaction } from '../../../postgres/pool';
import type { Order } from './largeCalls';
import {
  COUNT,
  all,
  base,
  call,
  clientWith,
  look,
  nothing,
  overlapped,
  seen,
  stored,
  submit,
  useLargeCalls,
  whole,
} from './largeCalls';

/**
 * What keeps a large call from being stored while it is checked, and what goes wrong meanwhile.
 *
 * @slow
 */

/** What a client keeps of targets. */
interface Known {
  known: { lookedUpAtMs: number };
}

useLargeCalls();

const codec = { encode: (values: unknown) => values, decode: (values: unknown) => values };
const orders: [string, object, object][] = [
  ['a hook that may refuse its tasks', {}, { hooks: { taskAccepted: async () => undefined } }],
  ['a payload codec', {}, { payloadCodec: codec }],
  ['a limit of waiting tasks', { maxQueued: { perHandler: 100_000 } }, {}],
  ['a limit of waiting tasks per target', { maxQueued: { perTarget: 100_000 } }, {}],
  ['a lane', { lane: { approach: 'serial' }, service: (target: string) => target }, {}],
];
test.each(orders)('a call is checked before it is stored beside %s', async (what, settings, options) => {
  const name = `beside-${orders.findIndex(([one]) => one === what)}`;
  const other = defineHandler<Order>({ ...base, ...settings, name });
  const own = clientWith(options);
  await own.submit(other, call(`${name}-first`).slice(0, 10));
  look();
  expect(await own.submit(other, call(name))).toMatchObject({ accepted: COUNT });
  expect(overlapped()).toBe(false);
});

test('a door asks its quotas about all tasks before one is stored', async () => {
  const refused = new Error('too many');
  await expect(submit(call('door'), { admit: () => Promise.reject(refused) })).rejects.toBe(refused);
  expect([seen.checked, seen.begun]).toEqual([COUNT, []]);
});

test("a caller's transaction gets tasks that were checked before", async () => {
  await inTransaction(seen.database.pool, async (tx) => {
    expect(await submit(call('theirs'), { tx })).toMatchObject({ accepted: COUNT });
    expect(overlapped()).toBe(false);
  });
  expect(await stored('theirs')).toEqual(whole);
});

describe('a schema that takes long', () => {
  /** Checks the first 500 tasks in `firstMs` each, the others in 10 ms; returns how many. */
  const checkedOf = async (name: string, firstMs: number): Promise<number> => {
    let now = 0;
    let count = 0;
    const slow = defineHandler<Order>({
      ...base,
      target: ({ to }) => {
        now += count++ < 500 ? firstMs : 10;
        return to;
      },
    });
    const { rows } = await seen.database.pool.query<{ key: string }>('select key from target');
    const targets = new TargetIds(100, () => undefined);
    await targets.of(
      seen.database.pool,
      slow,
      { id: 1, leaders: 1 } as never,
      rows.map(({ key }) => ({ target: key })),
    );
    const overlap = new Overlap(seen.database.pool, targets, undefined, () => now);
    const checks = new Checks(slow, call(name));
    look();
    expect(await overlap.store(slow, checks, (store) => store(null))).toBeNull();
    expect(await stored(name)).toEqual(nothing);
    return checks.checked.length;
  };

  test('begins no transaction that it would keep open', async () => {
    expect(await checkedOf('slow', 2)).toBe(500);
    expect(seen.begun).toEqual([]);
  });

  test('ends one in which 2 s went into checks', async () => {
    expect(await checkedOf('slower', 0)).toBe(800);
    expect(seen.begun).toHaveLength(1);
  });
});

test('a handler is asked within the context of the call, whoever opened the connection', async () => {
  const context = new AsyncLocalStorage<string>();
  const tenant = defineHandler<Order>({
    ...base,
    name: 'tenants',
    target: ({ to }) => {
      seen.checked++;
      return `${to} of ${context.getStore()}`;
    },
  });
  const text = 'x'.repeat(500);
  const tasks = (name: string) => call(name).map((task) => ({ ...task, payload: { ...task.payload, text } }));
  for (const name of ['first', 'second'])
    await context.run('a', async () => {
      look();
      await seen.client.submit(tenant, name === 'first' ? tasks(`a-${name}`).slice(0, 100) : tasks(`a-${name}`));
    });
  expect(overlapped()).toBe(true);
  const { rows } = await seen.database.pool.query<{ key: string }>("select key from target where key like '% of %'");
  expect(rows.filter(({ key }) => !key.endsWith(' of a'))).toEqual([]);
});

test('tasks are those of the call, whatever becomes of its array', async () => {
  look();
  const tasks = call('mine');
  const submitted = seen.client.submit('orders', tasks);
  while (seen.begun.length === 0) await setImmediate();
  tasks.fill({ id: 'other', payload: { to: 't1' } });
  expect(await submitted).toMatchObject({ accepted: COUNT });
  expect(overlapped()).toBe(true);
  expect(await stored('mine')).toEqual(whole);
});

describe('what is in the way of a call', () => {
  /** Cuts the connection on which the next large call has seen.begun. */
  const cutNext = (): void => {
    seen.atBegin = async (pid) => {
      seen.atBegin = null;
      await seen.database.pool.query('select pg_terminate_backend($1)', [pid]);
    };
  };

  test('a connection that breaks in the midst: it begins again, and no task is checked again', async () => {
    cutNext();
    expect(await submit(call('cut'))).toMatchObject({ accepted: COUNT, repeated: 0 });
    expect(seen.begun).toHaveLength(2);
    expect(seen.checked).toBe(COUNT);
    expect(await stored('cut')).toEqual(whole);
  });

  test('ids of targets that were looked up long ago: they are looked up again', async () => {
    const { targets } = (seen.client as unknown as { connection: { inserter: { targets: Known } } }).connection
      .inserter;
    targets.known.lookedUpAtMs -= 13 * 3_600_000;
    expect(await submit(call('old'))).toMatchObject({ accepted: COUNT, repeated: 0 });
    expect(overlapped()).toBe(true);
    expect(await stored('old')).toEqual(whole);
  });

  test('a database that is away hides no refusal', async () => {
    const away = createPool({ databaseUrl: seen.database.url, max: 1 });
    const own = clientWith({ databaseUrl: seen.database.url, pool: away });
    await own.submit('orders', call('away').slice(0, 100));
    await own.close();
    await away.end();
    const tasks = call('refused away', { payload: { to: 't1', fault: 'no such target' } });
    await expect(own.submit('orders', tasks)).rejects.toMatchObject({ problems: [{ index: COUNT - 1 }] });
    await expect(own.submit('orders', call('away'))).rejects.toThrow('after calling end');
  });

  test('a pool of one connection is enough', async () => {
    const single = createPool({ databaseUrl: seen.database.url, max: 1 });
    const own = clientWith({ databaseUrl: seen.database.url, pool: single });
    expect(await own.submit('orders', call('one').slice(0, 100))).toMatchObject({ accepted: 100 });
    expect(await own.submit('orders', call('single'))).toMatchObject({ accepted: COUNT });
    expect(await own.submit('orders', call('single-2', { payload: { to: 'one new' } }))).toMatchObject(all);
    await own.close();
    await single.end();
  });
});

test('what a handler throws inside a check is thrown, and nothing was stored', async () => {
  const asynchronous = defineHandler<Order, Order>({
    ...base,
    name: 'asynchronous',
    schema: {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) =>
          (value as Order).fault === undefined ? { value: value as Order } : Promise.resolve({ value: value as Order }),
      },
    } as never,
  });
  await seen.client.submit(asynchronous, call('sync').slice(0, 10));
  look();
  await expect(
    seen.client.submit(asynchronous, call('async', { payload: { to: 't1', fault: 'late' } })),
  ).rejects.toMatchObject({ name: 'AsyncSchemaError' });
  expect(overlapped()).toBe(true);
  expect(await stored('async')).toEqual(nothing);
});
