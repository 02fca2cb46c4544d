import { readPartitionLoads } from '../../../postgres/nodes/partition';
import { readServedOf } from '../../../postgres/nodes/partitionView';
import { SteppedClock } from '../../helpers/clock';
import type { Place } from '../rows/rows';
import { at, Rows } from '../rows/rows';

/** Which partition work is of, and which nodes may serve it. */

let rows: Rows;
let place: Place;
/** Of another handler, with a partition of its own. */
let other: Place;
/** Of a handler without partitions. */
let anywhere: Place;
beforeAll(async () => {
  rows = await Rows.open();
  place = await rows.place('jobs', { handler: { partitions: 1, needs: '{"gpu":"a100"}' } });
  other = await rows.place('more jobs', { handler: { partitions: 1 } });
  anywhere = await rows.place('light');
  await partition('jobs/0', place, 0);
  await partition('jobs/1', place, 1);
  await partition('more jobs/0', other, 0);
});
afterAll(() => rows.close());

const partition = async (id: string, { handlerId }: Place, no: number): Promise<void> => {
  await rows.insert('lease', { resource: id, acquired_at: at(0), expires_at: at(3_600_000) });
  await rows.insert('partition', { resource: id, handler_id: handlerId, no });
};

test('the load of a partition is the batches that ended in it of late, also by its lanes', async () => {
  const ended = (of: Place, agoMs: number): Promise<number> =>
    rows.batch(of, { state: 4, attempt: 1, started_at: at(-agoMs), finished_at: at(-agoMs) });
  const lane = await rows.lane(place, 'lane', { lane: { partition: 'jobs/1' } });
  const second = await rows.target(place, 'second');
  for (const one of [place, place, second, other, anywhere]) await ended(one, 1_000);
  for (const one of [place, other]) await ended(one, 3_600_000);
  await rows.batch(place);
  await ended({ ...lane, leaderId: 0 }, 1_000);
  const loads = await readPartitionLoads(rows.pool, 60_000);
  expect(loads.sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
    { id: 'jobs/0', batches: 3 },
    { id: 'jobs/1', batches: 1 },
    { id: 'more jobs/0', batches: 1 },
  ]);
});

describe('the partition that a task is of', () => {
  const LIVE_MS = 10_000;
  beforeAll(async () => {
    // With a clock that stands still, so that a time can be met exactly.
    await SteppedClock.create(rows.pool);
    await rows.task(place, { id: 'of a target' });
    await rows.task(await rows.lane(place, 'its lane', { lane: { partition: 'jobs/1' } }), { id: 'of a lane' });
    await rows.task(anywhere, { id: 'of no partition' });
  });
  afterEach(() => rows.query('delete from node'));

  const ABLE = { handlers: ['light', 'jobs'], attributes: '{"gpu":"a100","zone":"b"}' };
  const node = async ({ seenAgoMs = 0, ...columns }: { seenAgoMs?: number } & Record<string, unknown>) => {
    const row = { id: 'n', task_queue: 'q', started_at: at(0), seen_at: at(0), ...ABLE, ...columns };
    await rows.insert('node', row);
    await rows.query(`update node set seen_at = clock() - $1 * interval '1 ms'`, [seenAgoMs]);
  };
  const ableOf = async (task: string): Promise<number> => (await readServedOf(rows.pool, task, LIVE_MS))!.able;

  test('is that of its leader, or of its lane', async () => {
    expect(await readServedOf(rows.pool, 'of a target', LIVE_MS)).toMatchObject({ id: 'jobs/0', able: 0 });
    expect(await readServedOf(rows.pool, 'of a lane', LIVE_MS)).toMatchObject({ id: 'jobs/1', able: 0 });
    expect(await readServedOf(rows.pool, 'of no partition', LIVE_MS)).toBeNull();
    expect(await readServedOf(rows.pool, 'not there', LIVE_MS)).toBeNull();
  });

  test.each([
    ['was seen just now', {}],
    ['was seen within that time', { seenAgoMs: LIVE_MS - 1 }],
    ['has more than is needed', { attributes: '{"gpu":"a100","disk":"ssd"}' }],
  ])('may be served by a node that %s', async (_, columns) => {
    await node(columns);
    expect([await ableOf('of a target'), await ableOf('of a lane')]).toEqual([1, 1]);
  });

  test.each([
    ['was not seen for that time', { seenAgoMs: LIVE_MS }],
    ['was not seen for longer', { seenAgoMs: 10 * LIVE_MS }],
    ['is stopping', { draining: true }],
    ['is drained', { drained: true }],
    ['has other handlers', { handlers: ['light'] }],
    ['lacks an attribute', { attributes: '{"zone":"b"}' }],
    ['has another value of it', { attributes: '{"gpu":"t4"}' }],
  ])('may not be served by a node that %s', async (_, columns) => {
    await node(columns);
    expect([await ableOf('of a target'), await ableOf('of a lane')]).toEqual([0, 0]);
  });
});
