import { fixHead } from '../../../client/lanes/control';
import { storeBatches } from '../../../client/lanes/submitBatch';
import { TargetIds } from '../../../client/targetIds';
import { TaskInserter } from '../../../client/tasks/taskInserter';
import type { PayloadCodec } from '../../../handlers/codec/types';
import { sealerOf } from '../../../handlers/codec/sealer';
import { insertHeld } from '../../../postgres/grouping/dependency';
import type { HandlerRow } from '../../../postgres/grouping/handler';
import { copyTasks } from '../../../postgres/grouping/submitting/copyTasks';
import { insertTasks } from '../../../postgres/grouping/task';
import { insertLaneBatch } from '../../../postgres/lanes/laneBatch';
import { insertLaneTasks } from '../../../postgres/lanes/queue';
import { verifyStore } from '../../../postgres/operations/verify';
import type { Client } from '../../../postgres/pool';
import { inTransaction } from '../../../postgres/pool';
import { STATUSES } from '../../../workflows/planning/lanes/statuses';
import { lookedUpAt, loose, ordered, submit, UnusedStore } from './store';

/** Ids of targets serve for 12 hours of the server's time after their look-up, and no longer. */

const HOUR_MS = 3_600_000;

let store: UnusedStore;
beforeAll(async () => {
  store = await UnusedStore.open();
});
afterAll(() => store.close());
let n = 0;
const newId = (): string => `task-${++n}`;
const many = (): string[] => Array.from({ length: 60 }, newId);

/** One statement per way to store tasks, with the time of the oldest look-up. */
const task = (targetId: number) => ({
  ...{ id: newId(), targetId, laneId: 1, payload: '{}', bytes: 2, weight: null, key: null, priority: 0 },
  ...{ recipientId: null, notBeforeMs: null, expiresAtMs: null, version: null, trace: null, labels: null },
  ...{ reads: [], writes: [] },
});
type Statement = (db: Client, targetId: number, lookedUpAtMs: number) => Promise<unknown>;
const STATEMENTS: Record<string, Statement> = {
  'insert-tasks': (db, id, at) => insertTasks(db, [task(id)], at),
  'insert-held': (db, id, at) => insertHeld(db, [task(id)], at),
  'insert-lane-tasks': (db, id, at) => insertLaneTasks(db, [task(id)], at),
  'insert-lane-batch': (db, id, at) => {
    const of = { laneId: 1, targetId: id, handlerId: 1, tasks: [task(id)], reads: [], writes: [] };
    return insertLaneBatch(db, { ...of, reason: 9, version: null, trace: null, lookedUpAtMs: at });
  },
  COPY: (db, id, at) => copyTasks(db, [task(id)], at),
};

describe.each(Object.entries(STATEMENTS))('%s', (_, statement) => {
  const tried = async (ageMs: number): Promise<unknown> => {
    await submit(store.process(), ordered, 'in order', [newId()]);
    const id = (await store.targets())['in order']!;
    const nowMs = await store.nowMs();
    return inTransaction(store.database.pool, (db) => statement(db, id, nowMs - ageMs));
  };

  test('takes ids of 11.9 hours', async () => {
    await expect(tried(11.9 * HOUR_MS)).resolves.not.toThrow();
  });

  test('refuses ids of 12.1 hours, and says what to do', async () => {
    const text = 'Cannot store tasks: expected targets that were looked up within 12 hours, got a look at ';
    const remedy = 'Nothing was stored. A transaction that has been open for as long must end first.';
    await expect(tried(12.1 * HOUR_MS)).rejects.toMatchObject({
      code: 'MU002',
      message: expect.stringMatching(`^${text}20.*\\. Submit again\\.$`) as string,
      hint: remedy,
    });
  });
});

test('a look-up draws numbers for the targets that are new alone', async () => {
  const process = store.process();
  for (const key of ['drawn 1', 'drawn 2']) await submit(process, loose, key, [newId()]);
  const rows: HandlerRow[] = await store.query('select id, name, leaders from handler where name = $1', [loose.name]);
  const keys = ['drawn 1', 'drawn 2', 'drawn 3'];
  const { ids } = await new TargetIds(10, () => undefined).of(
    store.database.pool,
    loose,
    rows[0]!,
    keys.map((target) => ({ target })),
  );
  expect(ids.get('drawn 3')).toBe(ids.get('drawn 2')! + 1);
});

test('a statement without a time is refused', async () => {
  const check = store.query('select check_targets(null)');
  await expect(check).rejects.toMatchObject({ code: 'MU002', message: expect.stringContaining('no time') as string });
});

/** Each way by which a process submits, with ids that it knows already. */
type Way = (process: TaskInserter) => Promise<unknown>;
const inTheirs = async (work: (tx: Awaited<ReturnType<UnusedStore['session']>>) => Promise<unknown>): Promise<void> => {
  const tx = await store.session();
  await tx.query('begin');
  await tx.query('create temporary table theirs (id int) on commit drop');
  await work(tx);
  await tx.query('insert into theirs values (1)');
  await tx.query('commit');
};
const batch = { service: 'lane of in batches', items: [{ id: '', payload: { to: 'in batches' } }] };
const batches = (inserter: TaskInserter, tx?: never): Promise<unknown> =>
  storeBatches(
    { inserter, schema: 'muster', hooks: undefined },
    ordered,
    [{ ...batch, items: [{ ...batch.items[0]!, id: newId() }] }] as never,
    tx === undefined ? {} : { tx },
  );
const fixed = async (inserter: TaskInserter): Promise<void> => {
  await store.query(
    `update lane_batch set status = ${STATUSES.invalid} where batch_id = (select max(batch_id) from lane_batch)`,
  );
  await store.query(`update lane_state s set halted_by = b.batch_id, halted_at = clock()
    from lane_batch b where b.lane_id = s.lane_id and b.batch_id = (select max(batch_id) from lane_batch)`);
  const { pool } = store.database;
  await fixHead({ pool, inserter, handler: () => ordered }, batch.service, {
    items: [{ ...batch.items[0]!, id: newId() }],
  });
};
const WAYS: Record<string, Way> = {
  one: (process) => submit(process, loose, 'a', [newId()]),
  'COPY of many': (process) => submit(process, loose, 'a', many()),
  'a dependent': (process) => submit(process, loose, 'a', [newId()], { dependsOn: ['first'] }),
  'a lane': (process) => submit(process, ordered, 'in order', [newId()]),
  'a batch of a lane': (process) => batches(process),
  "one in a caller's transaction": (process) => inTheirs((tx) => submit(process, loose, 'a', [newId()], { tx })),
  "many in a caller's transaction": (process) => inTheirs((tx) => submit(process, loose, 'a', many(), { tx })),
  "a dependent in a caller's transaction": (process) =>
    inTheirs((tx) => submit(process, loose, 'a', [newId()], { tx, dependsOn: ['first'] })),
  "a lane in a caller's transaction": (process) =>
    inTheirs((tx) => submit(process, ordered, 'in order', [newId()], { tx })),
  "a batch of a lane in a caller's transaction": (process) => inTheirs((tx) => batches(process, tx as never)),
  'the fix of a halted lane': fixed,
};

describe.each(Object.entries(WAYS))('%s', (_, way) => {
  const count = async (): Promise<number> =>
    (await store.query<{ n: number }>('select count(*)::int as n from task'))[0]!.n;

  test.each([
    [11, false],
    [13, true],
  ])('with ids of %i hours: looks up anew: %s', async (hours, anew) => {
    const process = store.process();
    for (const to of ['a', 'in order']) await submit(process, to === 'a' ? loose : ordered, to, [newId()]);
    await process.store(loose, [], { partial: false }).catch(() => undefined);
    await submit(process, loose, 'a', ['first']);
    await batches(process);
    const before = lookedUpAt(process);
    await store.hoursLater(hours);
    const tasks = await count();
    await way(process);
    expect(await count()).toBeGreaterThan(tasks);
    expect(lookedUpAt(process) - before > hours * HOUR_MS).toBe(anew);
    if (!anew) expect(lookedUpAt(process)).toBe(before);
  });
});

test('the oldest look-up of those that a process keeps counts', async () => {
  const process = store.process();
  await submit(process, loose, 'a', [newId()]);
  const before = lookedUpAt(process);
  await store.hoursLater(7);
  await submit(process, loose, newId(), [newId()]);
  expect(lookedUpAt(process)).toBe(before);
  await store.hoursLater(7);
  await submit(process, loose, 'a', [newId()]);
  expect(lookedUpAt(process) - before).toBeGreaterThan(14 * HOUR_MS);
});

test('a transaction has its number when its ids are checked: the sweeper can wait for it', async () => {
  await inTransaction(store.database.pool, async (db) => {
    const drawn = async (): Promise<unknown> =>
      (await db.query<{ xid: string | null }>({ text: 'select pg_current_xact_id_if_assigned()::text as xid' }))
        .rows[0]!.xid;
    expect(await drawn()).toBeNull();
    await db.query({ text: 'select check_targets(server_time())' });
    expect(await drawn()).not.toBeNull();
  });
});

test('submits that share a statement are each served, whichever of them knows old ids', async () => {
  const [old, fresh] = [store.process(), store.process()];
  await submit(old, loose, 'a', [newId()]);
  await store.hoursLater(13);
  await submit(fresh, loose, 'b', [newId()]);
  const shared = old as unknown as { few: unknown };
  (fresh as unknown as { few: unknown }).few = shared.few; // as two clients never do, and calls of one do
  const all = await Promise.all([old, fresh, old, fresh].map((one, i) => submit(one, loose, 'ab'[i % 2]!, [newId()])));
  expect(all).toMatchObject(Array.from({ length: 4 }, () => ({ accepted: 1 })));
});

test('a lane whose name is another one by now is looked up anew', async () => {
  const process = store.process();
  await submit(process, ordered, 'moved', [newId()]);
  // As after both were deleted, and another process registered them again.
  await store.query(`delete from lane_queue where target_id = (select id from target where key = 'moved')`);
  await store.query(`update target set key = key || ' before' where key = 'moved'`);
  await store.query(`update lane set service = service || ' before' where service = 'lane of moved'`);
  await submit(store.process(), ordered, 'moved', [newId()]);
  const { targets } = process as unknown as { targets: { known: { byHandler: Map<string, Map<string, number>> } } };
  targets.known.byHandler.get('ordered')!.delete('moved');
  expect(await submit(process, ordered, 'moved', [newId()])).toMatchObject({ accepted: 1 });
});

test('a payload is encoded once, though its target is looked up twice', async () => {
  let encoded = 0;
  const payloadCodec: PayloadCodec = {
    encode: (payloads) => {
      encoded += payloads.length;
      return Promise.resolve(payloads.map(({ data }) => ({ metadata: { encoding: Buffer.from('test') }, data })));
    },
    decode: (payloads) => Promise.resolve(payloads),
  };
  const process = new TaskInserter(store.database.pool, { sealer: sealerOf({ payloadCodec }) });
  await submit(process, loose, 'encoded', [newId()]);
  await store.hoursLater(13);
  encoded = 0;
  await submit(process, loose, 'encoded', [newId()]);
  expect(encoded).toBe(1);
});

test('a process reads ids anew after an hour', async () => {
  let nowMs = 0;
  let forgotten = 0;
  const ids = new TargetIds(
    10,
    () => forgotten++,
    () => nowMs,
  );
  const sizes = (): number => (ids as unknown as { known: { byHandler: Map<string, unknown> } }).known.byHandler.size;
  const use = (): Promise<unknown> =>
    ids.use(() => ids.of(store.database.pool, loose, { id: 1, leaders: 1 } as HandlerRow, [{ target: 'a' }]));
  await use();
  nowMs = HOUR_MS;
  await use();
  expect([forgotten, sizes()]).toEqual([0, 1]);
  nowMs++;
  await ids.use(() => Promise.resolve());
  expect([forgotten, sizes()]).toEqual([0, 0]); // what a target is bound to stays as it is
});

test('verify names the task of a target that was deleted by hand', async () => {
  const id = newId();
  await submit(store.process(), loose, 'by hand', [id]);
  await store.query(`delete from target where key = 'by hand'`);
  const checks = await verifyStore(store.database.pool, { rows: 5_000 });
  const { violations } = checks.find(({ name }) => name === 'a task has a target')!;
  expect(violations).toMatchObject([{ id }]);
});
