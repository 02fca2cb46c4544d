import pino from 'pino';
import { nowNs, toNs } from '../../activities/nodes/heartbeat';
import { Partitions } from '../../activities/nodes/partitions';
import { defineHandler, InvalidCheckpointError, PartitionLostError } from '../../handlers';
import type { PartitionInHand } from '../../handlers';
import { assignPartitions, partitionResource, readPartitions } from '../../postgres/nodes/partition';
import { eventually } from '../helpers/eventually';
import type { Bench } from '../workflows/bench';
import { openBench } from '../workflows/bench';

/** Checkpoints in a partition: who may write them, how often, and what the next holder is given. */

const LEASE_MS = 60_000;
const orders = defineHandler<{ shop: string }>({
  name: 'orders',
  target: ({ shop }) => shop,
  limits: { maxItems: 1 },
  affinity: { partitions: 1 },
  submit: () => Promise.resolve({ results: [] }),
});
const P = partitionResource('orders', 0);
let bench: Bench;
beforeEach(async () => {
  bench = await openBench([orders]);
  await bench.client.submit('orders', [{ id: 't', payload: { shop: 's' } }]);
});
afterEach(() => bench.stop());

const pool = () => bench.database.pool;
const give = async (node: string): Promise<number> => {
  const epochOf = async () => (await readPartitions(pool(), LEASE_MS))[0]!.epoch;
  await eventually(async () => {
    const moves = [{ partition: P, epoch: await epochOf(), node, reason: 'test' }];
    return (await assignPartitions(pool(), moves, LEASE_MS)).length === 1;
  });
  return epochOf();
};
const open = (node: string, onReleased: () => void = () => undefined): Partitions =>
  new Partitions({ pool: pool(), node, kept: null, onReleased, log: pino({ level: 'silent' }) });
const inHand = (node: string, epoch: number): PartitionInHand => open(node).checkpoints.inHand({ id: P, epoch });
const shown = async () => (await bench.client.partitions({ handler: 'orders' }))[0]!.checkpoint;

test('the next holder is given the last checkpoint; a holder before it is refused, and overwrites nothing', async () => {
  const first = await give('a');
  const a = inHand('a', first);
  expect(await a.lastCheckpoint()).toBeNull();
  expect(await shown()).toBeNull();
  await a.checkpoint({ offset: 7 });
  const written = await shown();
  expect(written).toEqual({ value: { offset: 7 }, at: expect.any(String) as string, epoch: first });
  expect(await a.lastCheckpoint()).toEqual(written);

  const second = await give('b');
  const b = inHand('b', second);
  expect(await b.lastCheckpoint()).toEqual(written);
  await expect(a.checkpoint({ offset: 8 })).rejects.toThrow(PartitionLostError);
  await expect(inHand('a', first).lastCheckpoint()).rejects.toThrow(PartitionLostError);
  expect(await shown()).toEqual(written);
  await b.checkpoint({ offset: 9 });

  // Regained: what was begun under the epoch before stays refused.
  const third = await give('a');
  await expect(a.checkpoint({ offset: 10 })).rejects.toThrow(PartitionLostError);
  expect((await inHand('a', third).lastCheckpoint())?.value).toEqual({ offset: 9 });
  await pool().query('update lease set expires_at = clock() where resource = $1', [P]);
  await expect(inHand('a', third).checkpoint({ offset: 11 })).rejects.toThrow(PartitionLostError);
  expect(await shown()).toMatchObject({ value: { offset: 9 }, epoch: second });
});

test('many checkpoints are few writes, in order, and each promise means its value or a later one', async () => {
  await pool().query(`
    create table written (no int generated always as identity, value int);
    create function note() returns trigger language plpgsql set search_path from current as $$
      begin insert into written (value) values (new.checkpoint::text::int); return null; end $$;
    create trigger note after update on partition for each row execute function note()`);
  const values = async () =>
    (await pool().query<{ value: number }>('select value from written order by no')).rows.map(({ value }) => value);
  const a = inHand('a', await give('a'));
  const begun = performance.now();
  const promises: Promise<void>[] = [];
  for (let i = 1; i <= 100; i++) {
    const done = async () => {
      await a.checkpoint(i);
      expect((await values()).at(-1)).toBeGreaterThanOrEqual(i);
    };
    promises.push(done());
    await pool().query('select 1'); // a pace that many values share
  }
  await Promise.all(promises);
  const written = await values();
  // A timer may come a millisecond early.
  expect(written.length).toBeLessThanOrEqual((performance.now() - begun) / 199 + 1);
  expect(written.at(-1)).toBe(100);
  expect(written).toEqual([...new Set(written)].sort((x, y) => x - y));
  // One that follows at once on the end of another is written, too.
  await a.checkpoint(101);
  await a.checkpoint(102);
  expect((await values()).slice(-2)).toEqual([101, 102]);
});

test('a partition that is given up is given up after its last checkpoint', async () => {
  const epoch = await give('a');
  let released = 0;
  const partitions = open('a', () => released++);
  const a = partitions.checkpoints.inHand({ id: P, epoch });
  await a.checkpoint(1);
  const last = a.checkpoint(2); // its turn is later
  partitions.heard([{ id: P, epoch, revoked: true, untilNs: nowNs() + toNs(LEASE_MS) }], nowNs());
  await eventually(() => released === 1);
  await last;
  expect(await shown()).toMatchObject({ value: 2, epoch });
});

test('a checkpoint that cannot be stored is refused with its field, and the last one stays', async () => {
  const a = inHand('a', await give('a'));
  await a.checkpoint('good');
  await expect(a.checkpoint({ cursor: '\0' })).rejects.toThrow(InvalidCheckpointError);
  await expect(a.checkpoint({ cursor: '\0' })).rejects.toThrow('checkpoint.cursor: ');
  expect(await shown()).toMatchObject({ value: 'good' });
});

test('one that nobody waits for ends no process where it is refused', async () => {
  const epoch = await give('a');
  const a = inHand('a', epoch);
  await a.checkpoint(1);
  await give('b');
  const unhandled = jest.fn();
  process.on('unhandledRejection', unhandled);
  void a.checkpoint(2); // of a partition that is lost
  void a.checkpoint({ cursor: '\0' });
  await expect(a.checkpoint(3)).rejects.toThrow(PartitionLostError);
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});

test('one that the store does not take is rejected, and the next one is tried anew', async () => {
  const a = inHand('a', await give('a'));
  await a.checkpoint(1);
  await pool().query('alter table partition rename column checkpoint_at to away');
  await expect(a.checkpoint(2)).rejects.toThrow();
  await pool().query('alter table partition rename column away to checkpoint_at');
  await a.checkpoint(3);
  expect(await shown()).toMatchObject({ value: 3 });
});
