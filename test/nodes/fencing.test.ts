import pino from 'pino';
import { defineHandler } from '../../handlers';
import { nowNs, toNs } from '../../activities/nodes/heartbeat';
import { Partitions } from '../../activities/nodes/partitions';
import { fenceOf, isStale, prepare } from '../../activities/calls/attempt';
import { markFenced } from '../../postgres/calls/mark';
import { assignPartitions, partitionResource, readPartitions, revokePartitions } from '../../postgres/nodes/partition';
import { readHeldPartitions, releasePartitions, renewPartitions } from '../../postgres/nodes/partitionLease';
import type { TurnAnswer } from '../../workflows/messages';
import { eventually } from '../helpers/eventually';
import type { Bench } from '../workflows/bench';
import { openBench } from '../workflows/bench';

/**
 * Who may send what under which epoch (B5, B11; nodes.md, fencing). No worker: every turn, mark and
 * renewal is the test's own.
 */

const LEASE_MS = 10_000;
const orders = defineHandler<{ shop: string }>({
  name: 'orders',
  target: ({ shop }) => shop,
  limits: { maxItems: 1 },
  concurrency: { perTarget: 10 },
  affinity: { partitions: 1 },
  submit: (batch) => Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
});
const P = partitionResource('orders', 0);
const run = { runId: 'r', runStartedAtMs: 1 };
let bench: Bench;
let turn = 0;
beforeEach(async () => {
  bench = await openBench([orders]);
  turn = 0;
  await bench.client.submit(
    'orders',
    [1, 2, 3].map((n) => ({ id: `t-${n}`, payload: { shop: 's' } })),
  );
});
afterEach(() => bench.stop());

const pool = () => bench.database.pool;
const epochOf = async (id = P): Promise<number> =>
  (await readPartitions(pool(), LEASE_MS)).find((one) => one.id === id)!.epoch;
const give = async (node: string): Promise<number> => {
  // A mark that has the lease locked just now is not waited for: the next round tries again, and so
  // do we.
  const once = async () =>
    (await assignPartitions(pool(), [{ partition: P, epoch: await epochOf(), node, reason: 'test' }], LEASE_MS))
      .length === 1;
  await eventually(once);
  return epochOf();
};
const take = (live: number[] = []): Promise<TurnAnswer> => bench.turn(run, ++turn, { live });
const batches = async (): Promise<number[]> =>
  (
    await pool().query<{ id: number }>('select id from batch where state = 1 and attempt_until is null order by id')
  ).rows.map(({ id }) => id);
const mark = async (answer: TurnAnswer, id: number, node: string, epoch: number): Promise<boolean> =>
  (
    await markFenced(
      pool(),
      [{ id, attempt: 0, dispatch: answer.dispatch!.no, timeoutMs: 1_000, fence: { id: P, epoch } }],
      node,
    )
  ).has(id);

test('nothing is claimed while no node holds the partition; then it goes to the holder, under its epoch', async () => {
  expect(await take()).toMatchObject({
    dispatch: null,
    next: 'waiting',
    heldBy: 'no node holds its partition',
    again: false,
  });
  const epoch = await give('a');
  const answer = await take();
  expect(answer.dispatch).toMatchObject({ batches: 3, serving: { id: P, epoch, node: 'a', leaseMs: LEASE_MS } });
  // Asked back: what comes now waits for the next holder.
  await revokePartitions(pool(), [{ partition: P, epoch, wantedBy: 'b', reason: 'test' }]);
  await bench.client.submit('orders', [{ id: 't-4', payload: { shop: 's' } }]);
  expect(await take([answer.dispatch!.no])).toMatchObject({ dispatch: null, heldBy: 'no node holds its partition' });
});

test('a mark is refused under an old epoch, by another node, after the lease has passed; also after losing and regaining it [B11]', async () => {
  const first = await give('a');
  const answer = await take();
  const [one, two, three] = await batches();
  expect(await mark(answer, one!, 'b', first)).toBe(false); // never held it
  expect(await mark(answer, one!, 'a', first + 1)).toBe(false);
  expect(await mark(answer, one!, 'a', first)).toBe(true);
  await give('b');
  expect(await mark(answer, two!, 'a', first)).toBe(false); // lost
  const again = await give('a');
  expect(again).toBe(first + 2);
  expect(await mark(answer, two!, 'a', first)).toBe(false); // regained, and still the old epoch
  expect(await mark(answer, two!, 'a', again)).toBe(true);
  await pool().query(`update lease set expires_at = clock() where resource = $1`, [P]);
  expect(await mark(answer, three!, 'a', again)).toBe(false);
  await renewPartitions(pool(), 'a', [{ id: P, epoch: again }], LEASE_MS); // late, and nobody has taken it
  expect(await mark(answer, three!, 'a', again)).toBe(true);
});

test('a mark and a takeover at the same time: one comes first, and then the other sees it', async () => {
  for (let i = 0; i < 20; i++) {
    const epoch = await give('a');
    await bench.client.submit('orders', [{ id: `race-${i}`, payload: { shop: `r${i}` } }]);
    const answer = await take();
    const [id] = (
      await pool().query<{ id: number }>(
        `select b.id from batch b join target t on t.id = b.target_id where t.key = $1`,
        [`r${i}`],
      )
    ).rows.map((row) => row.id);
    const [marked] = await Promise.all([mark(answer, id!, 'a', epoch), give('b')]);
    const { rows } = await pool().query<{ attempt: number }>('select attempt from batch where id = $1', [id]);
    expect(rows[0]!.attempt).toBe(marked ? 1 : 0);
    expect(await mark(answer, id!, 'a', epoch)).toBe(false);
  }
});

test('losing one of several leases: the next renewal keeps the others, and no lock of another keeps any of them waiting', async () => {
  const [first, second, third] = [1, 2, 3].map((n) => `partition/other/${n}`);
  for (const id of [first, second, third])
    await pool().query(
      `insert into lease (resource, holder, epoch, acquired_at, expires_at) values ($1, 'a', 1, clock(), clock() + interval '1 s')`,
      [id],
    );
  await pool().query(`update lease set holder = 'b', epoch = 2 where resource = $1`, [second]);
  const client = await pool().connect();
  try {
    await client.query('begin');
    await client.query('select from lease where resource = $1 for share', [third]); // a grant whose process is stopped
    await renewPartitions(
      pool(),
      'a',
      [first, second, third].map((id) => ({ id: id!, epoch: 1 })),
      LEASE_MS,
    );
  } finally {
    await client.query('rollback');
    client.release();
  }
  const left = new Map((await readHeldPartitions(pool(), 'a')).map(({ id, leftMs }) => [id, leftMs]));
  expect([...left.keys()].sort()).toEqual([first, third]);
  expect(left.get(first!)).toBeGreaterThan(5_000);
  expect(left.get(third!)).toBeLessThan(1_000); // next time
});

test('nothing counts as expired for a lease after the server started', async () => {
  await give('a');
  await pool().query(`update lease set expires_at = clock() - interval '1 s' where resource = $1`, [P]);
  const expired = async (leaseMs: number) => (await readPartitions(pool(), leaseMs))[0]!.expired;
  expect(await expired(1)).toBe(true);
  expect(await expired(30 * 86_400_000)).toBe(false);
});

describe('a process and what it holds', () => {
  const open = (node: string, onReleased: () => void = () => undefined, name: string | null = null): Partitions =>
    new Partitions({
      pool: pool(),
      node,
      kept: name === null ? null : { name, forMs: 30_000 },
      onReleased,
      log: pino({ level: 'silent' }),
    });

  test('it looks into the store for what it was given a moment ago; of another epoch, or another node, it uses nothing', async () => {
    const epoch = await give('a');
    const a = open('a');
    const use = await a.use(P, epoch, () => undefined);
    expect(fenceOf(use)).toEqual({ id: P, epoch });
    expect(use!.isHeld()).toBe(true);
    expect(await a.use(P, epoch - 1, () => undefined)).toBeNull();
    expect(await open('b').use(P, null, () => undefined)).toBeNull();
  });

  test('by its own monotonic clock it is out when the time is over that it last read, and looks again [B11]', async () => {
    const epoch = await give('a');
    const a = open('a');
    const use = (await a.use(P, epoch, () => undefined))!;
    a.heard([{ id: P, epoch, revoked: false, untilNs: nowNs() + toNs(30) }], nowNs());
    expect(use.isHeld()).toBe(true);
    await eventually(() => !use.isHeld());
    expect(await a.use(P, epoch, () => undefined)).not.toBeNull(); // it was renewed meanwhile
    // What was asked for earlier says nothing new.
    a.heard([], nowNs() - toNs(60_000));
    expect(use.isHeld()).toBe(true);
  });

  test('asked back, it stops what is under way there, and gives up when the last of it has ended [B10]', async () => {
    const epoch = await give('a');
    let released = 0;
    const a = open('a', () => released++);
    let stops = 0;
    const uses = [await a.use(P, epoch, () => stops++), await a.use(P, null, () => stops++)];
    await revokePartitions(pool(), [{ partition: P, epoch, wantedBy: 'b', reason: 'test' }]);
    expect(await a.use(P, null, () => undefined)).not.toBeNull(); // not heard yet
    a.heard([{ id: P, epoch, revoked: true, untilNs: nowNs() + toNs(5_000) }], nowNs());
    expect(stops).toBe(2);
    expect(uses[0]!.isHeld()).toBe(false);
    expect(await a.use(P, null, () => undefined)).toBeNull();
    for (const use of uses) use!.end();
    expect(released).toBe(0);
  });

  test.each([null, 'shop-1'])(
    'with nothing under way it is given up at once to whoever asked, not kept for the name %s [B10]',
    async (name) => {
      const epoch = await give('a');
      let released = 0;
      const a = open('a', () => released++, name);
      await revokePartitions(pool(), [{ partition: P, epoch, wantedBy: 'b', reason: 'test' }]);
      a.heard([{ id: P, epoch, revoked: true, untilNs: nowNs() + toNs(5_000) }], nowNs());
      await eventually(() => released === 1);
      const [row] = await readPartitions(pool(), 1);
      expect(row).toMatchObject({ holder: null, wantedBy: 'b', keptFor: null, epoch });
    },
  );

  test('it stops: what it holds is kept for its name, or for nobody', async () => {
    let epoch = await give('a');
    await open('a', () => undefined, 'shop-1').stop();
    expect((await readPartitions(pool(), 1))[0]).toMatchObject({ holder: null, keptFor: 'shop-1', epoch });
    epoch = await give('b');
    await open('b').stop();
    expect((await readPartitions(pool(), 1))[0]).toMatchObject({ holder: null, keptFor: null, epoch });
    expect(await releasePartitions(pool(), 'b', [{ id: P, epoch }], null)).toEqual([]);
  });

  test('a dispatch prepares nothing once its lease is over, and its calls are given up', async () => {
    const epoch = await give('bench');
    const answer = await take();
    const deps = await bench.dispatch(answer, orders);
    const a = open('bench');
    const use = await a.use(P, epoch, () => undefined);
    const [one] = await pool()
      .query<{ id: number }>('select id from batch order by id limit 1')
      .then(({ rows }) => rows);
    const carried = { id: one!.id, attempt: 0, targetId: 1, target: 's' } as never;
    expect(isStale({ use }, { markedAtMs: performance.now() } as never)).toBe(false);
    await give('other');
    expect(await prepare({ ...deps, use }, [carried])).toEqual([]);
    a.heard([], nowNs());
    expect(isStale({ use }, { markedAtMs: performance.now() } as never)).toBe(true);
  });
});
