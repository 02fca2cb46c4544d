import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';
import type { Client, TaskInput } from '../../../client';
import { createClient } from '../../../client';
import { Checks } from '../../../client/tasks/calls/checks';
import { Overlap } from '../../../client/tasks/calls/overlap';
import { TargetIds } from '../../../client/targetIds';
import { defineHandler } from '../../../handlers';
import { createPool, inTransaction } from '../../../postgres/pool';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase, NO_TEMPORAL } from '../../helpers/database';

/** Large plain calls are stored while their later tasks are checked; others are checked first. */

interface Order {
  to: string;
  fault?: string;
}

const COUNT = 2_000;
/** Calls of a handler that are checked first after one that was not plain. */
const SKIPPED = 15;

let database: TestDatabase;
let client: Client;
let checked = 0;
/** How many tasks of the call had been checked when they began to be stored. */
let begun: number[] = [];
/** How many had been checked when what was stored of it was undone. */
let undone: number[] = [];
/** What happens on a connection on which a large call has begun. */
let atBegin: ((pid: number) => Promise<void>) | null = null;

/** What a client keeps of targets. */
interface Known {
  known: { lookedUpAtMs: number };
}

const base = {
  name: 'orders',
  target: ({ to, fault }: Order) => {
    checked++;
    if (fault !== undefined) throw new Error(fault);
    return to;
  },
  limits: { maxItems: 100_000 },
  linger: { lingerMs: 3_600_000 },
  submit: () => Promise.resolve({ results: [] }),
};
const handler = defineHandler<Order>(base);

beforeAll(async () => {
  database = await createDatabase();
  database.pool.on('connect', (session) => {
    const query = session.query.bind(session) as (...args: unknown[]) => unknown;
    session.query = ((first: { name?: string }, ...rest: unknown[]) => {
      if (first.name === 'begin-copy') begun.push(checked);
      if ((first as unknown) === 'rollback') undone.push(checked);
      const answer = query(first, ...rest);
      if (first.name !== 'begin-copy' || atBegin === null) return answer;
      return (answer as Promise<unknown>).then(async (rows) => {
        await atBegin!((session as unknown as { processID: number }).processID);
        return rows;
      });
    }) as typeof session.query;
  });
});
afterAll(async () => {
  await Promise.all(clients.map((one) => one.close()));
  await database.drop();
});

const clients: Client[] = [];
const clientWith = (options = {}): Client => {
  const common = { databaseUrl: database.url, pool: database.pool, temporal: NO_TEMPORAL };
  const made = createClient({ ...common, handlers: [handler], ...options });
  clients.push(made);
  return made;
};

beforeEach(async () => {
  client = clientWith();
  await client.submit('orders', call(`known-${Math.random()}`).slice(0, 10));
});

const call = (name: string, last: Partial<TaskInput<Order>> = {}): TaskInput<Order>[] =>
  Array.from({ length: COUNT }, (_, i) => ({
    id: `${name}-${i}`,
    payload: { to: `t${i % 10}` },
    ...(i === COUNT - 1 ? last : {}),
  }));

const submit = async (tasks: TaskInput<Order>[], options = {}) => {
  checked = 0;
  begun = [];
  undone = [];
  return client.submit('orders', tasks, options);
};
const overlapped = (): boolean => begun.some((n) => n < COUNT);

/** Rows of the tasks of a call, by table. */
interface Rows {
  tasks: number;
  queued: number;
  delayed: number;
  held: number;
  late: number;
  told: number;
}
const stored = async (name: string): Promise<Rows> => {
  const { rows } = await database.pool.query<Rows>(
    `select count(*)::int as tasks, count(q.seq)::int as queued, count(d.seq)::int as delayed,
       count(h.seq)::int as held, count(e.seq)::int as late, count(k.recipient_id)::int as told
     from task k left join queue q using (seq) left join delayed d using (seq) left join held h using (seq)
       left join expiry e using (seq)
     where k.id like $1`,
    [`${name}-%`],
  );
  return rows[0]!;
};
const nothing: Rows = { tasks: 0, queued: 0, delayed: 0, held: 0, late: 0, told: 0 };
const whole: Rows = { ...nothing, tasks: COUNT, queued: COUNT };

test('a transaction has begun before the last task of a plain call is checked', async () => {
  const result = await submit(call('plain'));
  expect(result).toMatchObject({ accepted: COUNT, repeated: 0, refused: [] });
  expect(new Set(result.targetIds).size).toBe(10);
  expect(overlapped()).toBe(true);
  expect(checked).toBe(COUNT);
  expect(await stored('plain')).toEqual(whole);
});

test('times, expiries and labels of a plain call are stored with it', async () => {
  const at = new Date(Date.now() + 3_600_000);
  await submit(call('marked', { notBefore: at, expiresAt: at, tags: ['vip'], metadata: { a: 'b' } }));
  expect(overlapped()).toBe(true);
  expect(await stored('marked')).toEqual({ ...whole, queued: COUNT - 1, delayed: 1, late: 1 });
  expect(await client.tasks.get(`marked-${COUNT - 1}`)).toMatchObject({ tags: ['vip'], metadata: { a: 'b' } });
});

test('a refused task at the end undoes what was written before it, and is told as ever', async () => {
  const refused = { index: COUNT - 1, id: `refused-${COUNT - 1}`, field: 'target' };
  const tasks = call('refused', { payload: { to: 't1', fault: 'no such target' } });
  await expect(submit(tasks)).rejects.toMatchObject({ problems: [refused] });
  expect(overlapped()).toBe(true);
  expect(checked).toBe(COUNT);
  expect(await stored('refused')).toEqual(nothing);
  expect(await submit(tasks, { partial: true })).toMatchObject({ accepted: COUNT - 1, refused: [refused] });
});

test('a refused task in the middle stops the storing, and all problems are told', async () => {
  const tasks = call('middle', { payload: { to: 't1', fault: 'last' } });
  tasks[1_000] = { ...tasks[1_000]!, payload: { to: 't1', fault: 'middle' } };
  await expect(submit(tasks)).rejects.toMatchObject({ problems: [{ index: 1_000 }, { index: COUNT - 1 }] });
  expect(undone).toEqual([1_100]);
});

const all = { accepted: COUNT, repeated: 0 };
const usual: [string, Partial<TaskInput<Order>>, object, object][] = [
  ['target', { payload: { to: 'new' } }, all, { tasks: COUNT }],
  ['callback', { callback: { url: 'https://example.com/' } }, all, { told: 1 }],
  ['dependency', { dependsOn: ['end-dependency-0'] }, all, { queued: COUNT - 1, held: 1 }],
  ['twin', { id: 'end-twin-9', payload: { to: 't9' } }, { accepted: COUNT - 1, repeated: 1 }, { queued: COUNT - 1 }],
];
test.each(usual)('a call that ends with a new %s is stored in the usual way', async (what, last, result, rows) => {
  expect(await submit(call(`end-${what}`, last))).toMatchObject(result);
  expect(overlapped()).toBe(true);
  expect(await stored(`end-${what}`)).toMatchObject(rows);
});

test('tasks that exist already are the same tasks', async () => {
  await submit(call('again').slice(0, 1_500));
  expect(await submit(call('again'))).toMatchObject({ accepted: COUNT - 1_500, repeated: 1_500 });
  expect(await stored('again')).toEqual(whole);
});

test('calls that are not plain at their start begin no transaction for it; after one at its end others are not tried', async () => {
  const first = { ...call('first')[0]!, payload: { to: 't0', fault: 'wrong' } };
  await expect(submit([first, ...call('first').slice(1)])).rejects.toMatchObject({ problems: [{ index: 0 }] });
  expect(overlapped()).toBe(false);
  await submit([{ ...call('told')[0]!, callback: { url: 'https://example.com/' } }, ...call('told').slice(1)]);
  expect(overlapped()).toBe(false);
  await submit(call('tried'));
  expect(overlapped()).toBe(true);
  await submit(call('late', { payload: { to: 'one more' } }));
  for (let n = 0; n < SKIPPED; n++) {
    await submit(call(`skipped-${n}`));
    expect(overlapped()).toBe(false);
  }
  await submit(call('once more'));
  expect(overlapped()).toBe(true);
});

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
  checked = 0;
  begun = [];
  expect(await own.submit(other, call(name))).toMatchObject({ accepted: COUNT });
  expect(overlapped()).toBe(false);
});

test('a door asks its quotas about all tasks before one is stored', async () => {
  const refused = new Error('too many');
  await expect(submit(call('door'), { admit: () => Promise.reject(refused) })).rejects.toBe(refused);
  expect([checked, begun]).toEqual([COUNT, []]);
});

test("a caller's transaction gets tasks that were checked before", async () => {
  await inTransaction(database.pool, async (tx) => {
    expect(await submit(call('theirs'), { tx })).toMatchObject({ accepted: COUNT });
    expect(overlapped()).toBe(false);
  });
  expect(await stored('theirs')).toEqual(whole);
});

describe('a schema that takes long', () => {
  /** The first 500 tasks are checked in `firstMs` each, the others in 10 ms; returns how many were. */
  const checkedOf = async (name: string, firstMs: number): Promise<number> => {
    let now = 0;
    let seen = 0;
    const slow = defineHandler<Order>({
      ...base,
      target: ({ to }) => {
        now += seen++ < 500 ? firstMs : 10;
        return to;
      },
    });
    const { rows } = await database.pool.query<{ key: string }>('select key from target');
    const targets = new TargetIds(100, () => undefined);
    await targets.of(
      database.pool,
      slow,
      { id: 1, leaders: 1 } as never,
      rows.map(({ key }) => ({ target: key })),
    );
    const overlap = new Overlap(database.pool, targets, undefined, () => now);
    const checks = new Checks(slow, call(name));
    begun = [];
    expect(await overlap.store(slow, checks, (store) => store(null))).toBeNull();
    expect(await stored(name)).toEqual(nothing);
    return checks.checked.length;
  };

  test('begins no transaction that it would keep open', async () => {
    expect(await checkedOf('slow', 2)).toBe(500);
    expect(begun).toEqual([]);
  });

  test('ends one in which 2 s went into checks', async () => {
    expect(await checkedOf('slower', 0)).toBe(800);
    expect(begun).toHaveLength(1);
  });
});

test('a handler is asked within the context of the call, whoever opened the connection', async () => {
  const context = new AsyncLocalStorage<string>();
  const tenant = defineHandler<Order>({
    ...base,
    name: 'tenants',
    target: ({ to }) => {
      checked++;
      return `${to} of ${context.getStore()}`;
    },
  });
  const text = 'x'.repeat(500);
  const tasks = (name: string) => call(name).map((task) => ({ ...task, payload: { ...task.payload, text } }));
  for (const name of ['first', 'second'])
    await context.run('a', async () => {
      checked = 0;
      await client.submit(tenant, name === 'first' ? tasks(`a-${name}`).slice(0, 100) : tasks(`a-${name}`));
    });
  expect(overlapped()).toBe(true);
  const { rows } = await database.pool.query<{ key: string }>("select key from target where key like '% of %'");
  expect(rows.filter(({ key }) => !key.endsWith(' of a'))).toEqual([]);
});

test('tasks are those of the call, whatever becomes of its array', async () => {
  checked = 0;
  begun = [];
  const tasks = call('mine');
  const submitted = client.submit('orders', tasks);
  while (begun.length === 0) await setImmediate();
  tasks.fill({ id: 'other', payload: { to: 't1' } });
  expect(await submitted).toMatchObject({ accepted: COUNT });
  expect(overlapped()).toBe(true);
  expect(await stored('mine')).toEqual(whole);
});

describe('what is in the way of a call', () => {
  /** Cuts the connection on which the next large call has begun. */
  const cutNext = (): void => {
    atBegin = async (pid) => {
      atBegin = null;
      await database.pool.query('select pg_terminate_backend($1)', [pid]);
    };
  };

  test('a connection that breaks in the midst: it begins again, and no task is checked again', async () => {
    cutNext();
    expect(await submit(call('cut'))).toMatchObject({ accepted: COUNT, repeated: 0 });
    expect(begun).toHaveLength(2);
    expect(checked).toBe(COUNT);
    expect(await stored('cut')).toEqual(whole);
  });

  test('ids of targets that were looked up long ago: they are looked up again', async () => {
    const { targets } = (client as unknown as { connection: { inserter: { targets: Known } } }).connection.inserter;
    targets.known.lookedUpAtMs -= 13 * 3_600_000;
    expect(await submit(call('old'))).toMatchObject({ accepted: COUNT, repeated: 0 });
    expect(overlapped()).toBe(true);
    expect(await stored('old')).toEqual(whole);
  });

  test('a database that is away hides no refusal', async () => {
    const away = createPool({ databaseUrl: database.url, max: 1 });
    const own = clientWith({ databaseUrl: database.url, pool: away });
    await own.submit('orders', call('away').slice(0, 100));
    await own.close();
    await away.end();
    const tasks = call('refused away', { payload: { to: 't1', fault: 'no such target' } });
    await expect(own.submit('orders', tasks)).rejects.toMatchObject({ problems: [{ index: COUNT - 1 }] });
    await expect(own.submit('orders', call('away'))).rejects.toThrow('after calling end');
  });

  test('a pool of one connection is enough', async () => {
    const single = createPool({ databaseUrl: database.url, max: 1 });
    const own = clientWith({ databaseUrl: database.url, pool: single });
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
  await client.submit(asynchronous, call('sync').slice(0, 10));
  checked = 0;
  begun = [];
  await expect(
    client.submit(asynchronous, call('async', { payload: { to: 't1', fault: 'late' } })),
  ).rejects.toMatchObject({ name: 'AsyncSchemaError' });
  expect(overlapped()).toBe(true);
  expect(await stored('async')).toEqual(nothing);
});
