import { promoteDueLanes } from '../../../postgres/lanes/promote';
import { readLaneHeads } from '../../../postgres/lanes/queue';
import { loseAccepted } from '../../../postgres/lanes/reportLost';
import { failDependents } from '../../../postgres/lanes/settle';
import { acceptInLanes } from '../../../postgres/lanes/settleMany';
import { inTransaction } from '../../../postgres/pool';
import { STATUSES } from '../../../workflows/planning/lanes/statuses';
import type { LanePlace, Place } from '../rows/rows';
import { at, Rows } from '../rows/rows';

/** Lanes beside each other: what is done to one leaves the others as they are. */

let rows: Rows;
let place: Place;
beforeAll(async () => {
  rows = await Rows.open();
  place = await rows.place('jobs');
});
afterAll(() => rows.close());

const MINUTE = 60_000;
/** A batch as a call of it that is under way has it. */
const CALLED = { attempt: 1, started_at: at(-MINUTE), attempt_until: at(MINUTE) };
/** The same once the downstream has accepted it. */
const ACCEPTED = { attempt: 1, started_at: at(-MINUTE), reference: 'job', poll_at: at(MINUTE) };

const statusOf = async (batch: number): Promise<number> =>
  (await rows.query<{ status: number }>('select status from lane_batch where batch_id = $1', [batch]))[0]!.status;
const pendingOf = async ({ laneId }: LanePlace): Promise<number> =>
  (await rows.query<{ pending: number }>('select pending from lane_state where lane_id = $1', [laneId]))[0]!.pending;

describe('lanes that are marked ready', () => {
  let other: Place;
  beforeAll(async () => {
    // Other queuers than that of the tests below: they look at these lanes alone.
    for (const id of [1, 2]) await rows.insert('queuer', { id });
    other = await rows.place('full', { handler: { per_handler: 1 } });
  });
  const blocked = (of: Place, service: string, served: number): Promise<LanePlace> =>
    rows.lane(of, service, { state: { queuer_id: 1, blocked_by: of.handlerId, served } });
  const promote = async (queuerId: number, most: number): Promise<string[]> => {
    await inTransaction(rows.pool, (client) => promoteDueLanes(client, queuerId, most));
    const ready = await rows.query<{ service: string }>(
      `select l.service from lane_state s join lane l on l.id = s.lane_id
       where s.queuer_id = $1 and s.ready order by s.served, l.id`,
      [queuerId],
    );
    return ready.map(({ service }) => service);
  };

  test('of those that wait for a handler, as many as it has free calls', async () => {
    const busy = await blocked(other, 'full 1', 1);
    await blocked(other, 'full 2', 2);
    await blocked(other, 'full 3', 3);
    await rows.lane(place, 'rests', { state: { queuer_id: 1 } });
    await blocked(place, 'free 1', 5);
    await blocked(place, 'free 2', 4);
    await rows.lane(place, 'of another queuer', { state: { queuer_id: 2, blocked_by: place.handlerId } });
    const inCall = await rows.laneBatch(busy, { seq: 1, status: STATUSES.submitted, batch: CALLED });
    expect(await promote(1, 1)).toEqual(['free 2']);
    expect(await promote(1, 10)).toEqual(['free 2', 'free 1']);
    await rows.query('update lane_batch set status = $2 where batch_id = $1', [inCall, STATUSES.pending]);
    expect(await promote(1, 10)).toEqual(['full 1', 'free 2', 'free 1']);
    expect(await promote(2, 10)).toEqual(['of another queuer']);
  });

  test('those whose time has come, and no others', async () => {
    await rows.query('update lane_state set ready = false, blocked_by = null');
    await rows.lane(place, 'due', { state: { queuer_id: 1, due_at: at(-1_000) } });
    await rows.lane(place, 'due later', { state: { queuer_id: 1, due_at: at(MINUTE) } });
    await rows.lane(place, 'due elsewhere', { state: { queuer_id: 2, due_at: at(-1_000) } });
    await rows.lane(other, 'due and blocked', {
      state: { queuer_id: 1, due_at: at(-1_000), blocked_by: other.handlerId, served: 1 },
    });
    expect(await promote(1, 10)).toEqual(['due', 'due and blocked']);
    const waits = 'select from lane_state where ready and (due_at is not null or blocked_by is not null)';
    expect(await rows.query(waits)).toHaveLength(0);
  });
});

test('the head of a lane counts the batches of its own lane, and goes before those behind it', async () => {
  const head = async (lane: LanePlace, seq: number): Promise<void> => {
    await rows.insert('lane_queue', { lane_id: lane.laneId, target_id: lane.targetId, seq, ready_at: at(0), bytes: 1 });
  };
  const [one, two, three] = [
    await rows.lane(place, 'head 1'),
    await rows.lane(place, 'head 2'),
    await rows.lane(place, 'no head'),
  ];
  await head(one, 50);
  await head(one, 65);
  await head(two, 55);
  for (const [lane, seq, status] of [
    [one, 10, STATUSES.unsubmitted],
    [one, 60, STATUSES.submitted],
    [one, 70, STATUSES.delayed],
    [one, 52, STATUSES.committed],
    [two, 58, STATUSES.unsubmitted],
    [three, 51, STATUSES.pending],
  ] as const)
    await rows.laneBatch(lane, { seq, status });
  const heads = await readLaneHeads(rows.pool, [one.laneId, two.laneId, three.laneId]);
  expect(heads.sort((a, b) => a.laneId - b.laneId)).toMatchObject([
    { laneId: one.laneId, targetId: one.targetId, unsent: 2, open: 3, boundary: 60 },
    { laneId: two.laneId, targetId: two.targetId, unsent: 1, open: 1, boundary: 58 },
  ]);
  expect(heads).toHaveLength(2);
});

test('what a downstream lost is sent again, but for what is no longer polled', async () => {
  const lane = await rows.lane(place, 'lost', { state: { pending: 5 } });
  const accepted = (seq: number, status: number, batch: object = ACCEPTED): Promise<number> =>
    rows.laneBatch(lane, { seq, status, batch: { ...batch } });
  const before = await accepted(1, STATUSES.pending);
  const pending = await accepted(2, STATUSES.pending);
  const unpolled = await accepted(3, STATUSES.pending, { ...ACCEPTED, poll_at: null });
  const valid = await accepted(4, STATUSES.valid);
  const called = await accepted(5, STATUSES.submitted, CALLED);
  const past = await accepted(6, STATUSES.pending);
  const lost = { laneId: lane.laneId, afterSeq: 1, acceptedBefore: at(MINUTE).toISOString(), error: 'lost', limit: 3 };
  expect(await loseAccepted(rows.pool, lost)).toEqual([
    { batchId: pending, seq: 2, moved: true },
    { batchId: unpolled, seq: 3, moved: false },
    { batchId: valid, seq: 4, moved: true },
  ]);
  const { unknown, pending: stays, submitted } = STATUSES;
  const wanted = [
    [before, stays, 1],
    [pending, unknown, 2],
    [unpolled, stays, 1],
    [valid, unknown, 2],
    [called, submitted, 1],
    [past, stays, 1],
  ];
  const found = await rows.query<{ row: number[] }>(
    `select json_build_array(b.id, s.status, b.attempt) as row
     from lane_batch s join batch b on b.id = s.batch_id where s.lane_id = $1 order by s.seq`,
    [lane.laneId],
  );
  expect(found.map(({ row }) => row)).toEqual(wanted);
  expect(await pendingOf(lane)).toBe(3);
  expect(await loseAccepted(rows.pool, { ...lost, acceptedBefore: at(-MINUTE).toISOString() })).toEqual([]);
});

describe('a batch of which a dependency was not applied', () => {
  test.each(['unsubmitted', 'delayed'] as const)('fails if it is %s', async (status) => {
    const lane = await rows.lane(place, `needs, ${status}`);
    const batch = await rows.laneBatch(lane, { seq: 1, status: STATUSES[status], batch: { members: [1, 2] } });
    const failed = await inTransaction(rows.pool, (client) => failDependents(client, batch, 7));
    expect(failed).toEqual({ handler: 'jobs', tasks: 2 });
    expect(await statusOf(batch)).toBe(STATUSES['failed-dependency']);
    expect(await rows.query('select state, error from batch where id = $1', [batch])).toEqual([
      { state: 5, error: 'not sent: batch 7, on which it depends, was not applied' },
    ]);
  });

  test.each(['submitted', 'pending', 'unknown', 'parked', 'committed'] as const)(
    'stays as it is once it may have been sent: %s',
    async (status) => {
      const lane = await rows.lane(place, `needs, ${status}`);
      const batch = await rows.laneBatch(lane, { seq: 1, status: STATUSES[status], batch: CALLED });
      expect(await inTransaction(rows.pool, (client) => failDependents(client, batch, 7))).toBeNull();
      expect(await statusOf(batch)).toBe(STATUSES[status]);
      expect(await rows.query('select state from batch where id = $1', [batch])).toEqual([{ state: 1 }]);
    },
  );
});

describe('a batch that the downstream has accepted', () => {
  const accept = (id: number, attempt = 1): Promise<Set<number>> =>
    acceptInLanes(rows.pool, [{ id, attempt, reference: 'job', every_ms: 1_000, deadline_ms: MINUTE, frees: false }]);

  test.each([
    ['submitted', 1, 1],
    ['unknown', 0, 1],
    ['pending', 1, 1],
  ] as const)('is pending, and counts once, if it was %s', async (status, before, after) => {
    const lane = await rows.lane(place, `accepted, ${status}`, { state: { pending: before } });
    const batch = await rows.laneBatch(lane, { seq: 1, status: STATUSES[status], batch: CALLED });
    expect(await accept(batch)).toEqual(new Set([batch]));
    expect(await statusOf(batch)).toBe(STATUSES.pending);
    expect(await pendingOf(lane)).toBe(after);
  });

  test('is not being read any more, if it was before it was sent again', async () => {
    const lane = await rows.lane(place, 'accepted anew');
    const batch = await rows.laneBatch(lane, {
      seq: 1,
      status: STATUSES.submitted,
      batch: { ...CALLED, read_at: at(-MINUTE) },
    });
    await accept(batch);
    const read = await rows.query('select read_at from batch where id = $1', [batch]);
    expect(read).toEqual([{ read_at: null }]);
  });

  test('is not pending in a lane that it has left', async () => {
    const lane = await rows.lane(place, 'accepted late');
    const batch = await rows.laneBatch(lane, { seq: 1, status: STATUSES.skipped, batch: CALLED });
    await accept(batch);
    expect(await statusOf(batch)).toBe(STATUSES.skipped);
    expect(await pendingOf(lane)).toBe(0);
  });

  test('is left alone by the answer of an earlier attempt', async () => {
    const lane = await rows.lane(place, 'accepted before');
    const batch = await rows.laneBatch(lane, { seq: 1, status: STATUSES.submitted, batch: { ...CALLED, attempt: 2 } });
    expect(await accept(batch)).toEqual(new Set());
    expect(await statusOf(batch)).toBe(STATUSES.submitted);
  });
});
