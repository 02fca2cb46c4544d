import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import { randomUUID } from 'node:crypto';
import { grantLanes } from '../../activities/lanes/grant';
import { grantNext } from '../../activities/lanes/nextGrants';
import { wakeQueuers } from '../../postgres/lanes/queuer';
import { markGranted, readGranted } from '../../postgres/lanes/submitter';
import type { Client } from '../../client';
import type { GrantAnswer } from '../../workflows/messages';
import type { TestDatabase } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { items } from './downstream';
import type { LaneStore } from './laneStore';
import { openLaneStore } from './laneStore';

/**
 * Grants by hand, two queuer runs, dead submitters (C29). No worker: every turn is the test's own.
 */

let shop: LaneStore;
let database: TestDatabase;
let client: Client;
beforeEach(async () => {
  shop = await openLaneStore();
  ({ database, client } = shop);
  await shop.pretendWorker(['edits']);
});
afterEach(() => shop.stop());

const silent = { error: () => undefined };
class Run {
  readonly runId = randomUUID();
  turn = 0;
  constructor(private readonly runStartedAtMs: number) {}
  take(live: number[] = [], turn = ++this.turn): Promise<GrantAnswer> {
    const { runId, runStartedAtMs } = this;
    return grantLanes(
      { pool: database.pool, leaseMs: 15_000, nodes: DEFAULT_NODE_SETTINGS, log: silent },
      { queuerId: 0, runId, runStartedAtMs, turn, live, mayClaim: true },
    );
  }
}
const submit = async (service: string): Promise<number> =>
  (await client.submitBatch('edits', service, items(service))).batch;
const mark = async (id: number, submitter: number, attempt = 0) =>
  (await markGranted(database.pool, [{ id, attempt, submitter, timeoutMs: 1_000 }], 'n')).has(id);
const statusOf = async (batch: number) => (await client.batchStatus(batch))!.status;

test('a repeated turn grants nothing more and answers the same', async () => {
  await submit('a');
  const run = new Run(1);
  const first = await run.take();
  expect(first.submitters).toHaveLength(1);
  await submit('b');
  const again = await run.take([], 1);
  expect(again).toMatchObject({ submitters: first.submitters, again: true });
});

test('what a dead submitter held and never sent is granted again; its own mark is refused [C29]', async () => {
  const batch = await submit('a');
  const run = new Run(1);
  const { submitters } = await run.take();
  const dead = submitters[0]!.no;
  const next = await run.take([]); // the workflow knows of no such activity any more
  expect(next.submitters).toHaveLength(1);
  expect(await mark(batch, dead)).toBe(false);
  expect(await mark(batch, next.submitters[0]!.no)).toBe(true);
});

test('what it had marked is unknown, is first in its lane, and waits until that call has ended [C29 C28]', async () => {
  const batch = await submit('a');
  const later = await submit('a');
  const run = new Run(1);
  const { submitters } = await run.take();
  expect(await mark(batch, submitters[0]!.no)).toBe(true);
  const next = await run.take([]);
  expect([await statusOf(batch), await statusOf(later), next.submitters]).toEqual(['unknown', 'unsubmitted', []]);
  expect(next).toMatchObject({ next: 'waiting' });
  expect(next.dueInMs).toBeGreaterThan(500);
  await database.pool.query(`update lane_batch set not_before = clock() where batch_id = $1`, [batch]);
  await database.pool.query(`update lane_state set due_at = clock()`);
  const after = await run.take([]);
  expect(
    (await readGranted(database.pool, after.submitters[0]!.no)).map(({ id, unconcluded }) => [id, unconcluded]),
  ).toEqual([[batch, true]]);
});

test('two runs: the later one takes over with a higher epoch, the earlier one is deposed and its submitters send nothing', async () => {
  const batch = await submit('a');
  const early = new Run(1);
  const { submitters } = await early.take();
  const late = new Run(2);
  const taken = await late.take();
  expect(taken.epoch).toBe(2);
  expect(await mark(batch, submitters[0]!.no)).toBe(false);
  expect(await early.take([submitters[0]!.no])).toMatchObject({ deposed: true, submitters: [] });
  const handlers = client.handlers.definitions;
  const asks = [{ no: submitters[0]!.no, epoch: 1, slots: 1 }];
  expect(await grantNext({ pool: database.pool, handlers, node: 'n' }, 0, asks)).toMatchObject({
    batches: new Map(),
    over: new Set([submitters[0]!.no]),
  });
});

test('frozen past its expiry, then thawed: its send is refused, whoever has taken over or not [C29]', async () => {
  const batch = await submit('a');
  const { submitters } = await new Run(1).take();
  await database.pool.query(`update submitter set expires_at = clock() - interval '1 s'`);
  expect(await mark(batch, submitters[0]!.no)).toBe(false);
});

test('a submitter whose lease has passed is recovered by another one, while its workflow still takes it for live [C29]', async () => {
  await client.setQueuer({ slots: 2 });
  const [sent, waiting] = [await submit('a'), await submit('b')];
  const { submitters } = await new Run(1).take();
  const [dead, other] = submitters.map(({ no }) => no) as [number, number];
  const { rows } = await database.pool.query<{ id: number }>(
    'select batch_id as id from lane_batch where submitter = $1',
    [dead],
  );
  const held = rows[0]!.id;
  await database.pool.query(`update submitter set expires_at = clock() - interval '1 s' where no = $1`, [dead]);
  expect(await wakeQueuers(database.pool, [0], 1_000)).toEqual([{ queuerId: 0 }]); // nothing is ready, and yet there is something to do
  const ended = held === sent ? waiting : sent;
  await database.pool.query(`update lane_batch set status = 10 where batch_id = $1`, [ended]);
  await database.pool.query(`update batch set state = 4, dispatch = null, finished_at = clock() where id = $1`, [
    ended,
  ]);
  const next = await grantNext({ pool: database.pool, handlers: client.handlers.definitions, node: 'n' }, 0, [
    { no: other, epoch: 1, slots: 1 },
  ]);
  expect(next.batches.get(other)?.map(({ id }) => id)).toEqual([held]);
  expect([await mark(held, dead), await mark(held, other)]).toEqual([false, true]);
});

test('a lane that an answer halts while a grant waits for it is neither granted nor set going again [C19]', async () => {
  const batch = await submit('a');
  const answer = await database.pool.connect();
  await answer.query('begin');
  await answer.query(
    `update lane_state set halted_by = $1, halted_at = clock(), halt_reason = 'invalid' where halted_by is null`,
    [batch],
  );
  const granting = new Run(1).take();
  await eventually(async () => (await database.pool.query(`select from pg_locks where not granted`)).rows.length > 0);
  await answer.query('commit');
  answer.release();
  expect((await granting).submitters).toEqual([]);
  const { rows } = await database.pool.query('select halted_by as by from lane_state');
  expect(rows).toEqual([{ by: batch }]);
});

test.each([
  ['its lane was paused', () => client.pauseLane('a')],
  ['everything was paused', () => client.pauseQueuer()],
  ['its handler was paused', () => client.pause('edits')],
])('granted, and before the send %s: not sent', async (_, stop) => {
  const batch = await submit('a');
  const { submitters } = await new Run(1).take();
  await stop();
  expect(await mark(batch, submitters[0]!.no)).toBe(false);
});

const nextRound = async (slots: number, strategy: 'one-round' | 'per-service' | 'single'): Promise<string[]> => {
  await client.setQueuer({ slots, strategy });
  const { submitters } = await new Run(Date.now()).take();
  const granted: { id: number; service: string }[] = [];
  for (const { no } of submitters) {
    const { rows } = await database.pool.query<{ id: number; service: string }>(
      'select s.batch_id as id, l.service from lane_batch s join lane l on l.id = s.lane_id where s.submitter = $1',
      [no],
    );
    granted.push(...rows);
  }
  return granted.map(({ service }) => service).sort();
};

test('one-round: one of each service, in a single turn; a service with 1,000 waiting has no more than one with one', async () => {
  for (let i = 0; i < 20; i++) await submit('crowded');
  for (const service of ['b', 'c', 'd']) await submit(service);
  expect(await nextRound(4, 'one-round')).toEqual(['b', 'c', 'crowded', 'd']);
});

test('a service that comes late does not wait for more than one turn of the others [C24]', async () => {
  await client.setQueuer({ slots: 1, strategy: 'one-round' });
  for (const service of ['a', 'b']) for (let i = 0; i < 5; i++) await submit(service);
  const run = new Run(1);
  const served: string[] = [];
  const step = async (): Promise<void> => {
    const { submitters } = await run.take();
    const { rows } = await database.pool.query<{ service: string; id: number }>(
      'select l.service, s.batch_id as id from lane_batch s join lane l on l.id = s.lane_id where s.submitter = $1',
      [submitters[0]!.no],
    );
    served.push(rows[0]!.service);
    await database.pool.query(`update lane_batch set status = 10 where batch_id = $1`, [rows[0]!.id]);
    await database.pool.query(`update batch set state = 4, dispatch = null, finished_at = clock() where id = $1`, [
      rows[0]!.id,
    ]);
    await database.pool.query(`update lane_state set ready = true, pending = 0`);
  };
  for (let i = 0; i < 3; i++) await step();
  await submit('late');
  for (let i = 0; i < 3; i++) await step();
  expect(served.slice(3)).toContain('late');
  expect(served.slice(0, 3).sort()).toEqual(['a', 'a', 'b']);
});

test('a lane that becomes ready while a turn publishes that it has nothing is seen by it', async () => {
  const run = new Run(1);
  expect(await run.take()).toMatchObject({ submitters: [], next: 'idle', again: false });
  await submit('a');
  await client['connection'].settled();
  await database.pool.query('update lane_state set ready = false');
  await database.pool.query('update queuer set state = 0, wake_at = null, woken_at = null');
  const { pool } = database;
  const query = pool.query.bind(pool) as (statement: { name?: string }) => Promise<unknown>;
  // Another transaction commits between the turn's and the look.
  pool.query = (async (statement: { name?: string }) => {
    if (statement.name === 'has-unseen-work') await pool.query('update lane_state set ready = true');
    return query(statement);
  }) as never;
  expect(await run.take()).toMatchObject({ submitters: [], next: 'idle', again: true });
});
