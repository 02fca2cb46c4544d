import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { eventually } from '../helpers/eventually';
import { reachesStatus } from '../helpers/reachesStatus';
import { expectWhole } from '../helpers/whole';
import { STATUSES } from '../../workflows/planning/lanes/statuses';
import { Downstream, items, okay } from './downstream';

/**
 * Cancels of what stands in lanes, against a running queuer: what is cancelled was never applied,
 * and its lane goes on.
 *
 * @slow
 */

const HOUR_MS = 3_600_000;
const downstream = new Downstream();
const halting = new Downstream();
const racing = new Downstream();
const applied = new Map<number, number>();
let muster: TestMuster;
beforeAll(async () => {
  downstream.answer = (batch, _, times) => {
    const { price } = batch.tasks[0]!.payload;
    if (price === -1 && times === 0)
      return { results: batch.tasks.map(({ id }) => ({ id, status: 'retry' as const, retryAfterMs: HOUR_MS })) };
    if (price === -2) return { status: 'later', retryAfterMs: HOUR_MS };
    return okay(batch);
  };
  racing.answer = async (batch) => {
    applied.set(Number(batch.id), (applied.get(Number(batch.id)) ?? 0) + 1);
    await new Promise((resolve) => setTimeout(resolve, Number(batch.id) % 4));
    return okay(batch);
  };
  muster = await startMuster([
    downstream.handler(),
    halting.handler({ name: 'halting', lane: { onInvalid: 'halt' } }),
    racing.handler({ name: 'racing', lane: { approach: 'parallel' }, linger: { lingerMs: 1 } }),
  ]);
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));
const submit = async (handler: string, service: string, price?: number, dependsOn: number[] = []): Promise<number> =>
  (
    await muster.client.submitBatch(handler, service, items(service, 2, price === undefined ? {} : { price }), {
      dependsOn,
    })
  ).batch;

/** Statuses of batches that have all ended; null: not yet. */
const endsOf = async (batches: readonly number[]): Promise<Map<number, number> | null> => {
  const { rows } = await muster.database.pool.query<{ id: number; status: number }>(
    'select batch_id as id, status from lane_batch where batch_id = any($1::bigint[])',
    [batches],
  );
  return rows.every(({ status }) => status >= 10) ? new Map(rows.map(({ id, status }) => [id, status])) : null;
};

test('a batch whose retry is an hour away is cancelled, its lane goes on at once, and what depends on it fails unsent (C18) [G9 C10]', async () => {
  const { client } = muster;
  const tried = await submit('edits', 'backoff', -1);
  const part = await eventually(
    async () => (await client.lane('backoff')).batches.find(({ status }) => status === 'delayed')?.batch,
  );
  const next = await submit('edits', 'backoff');
  const dependent = await submit('edits', 'elsewhere', undefined, [part]);
  const last = await submit('edits', 'elsewhere');
  expect((await client.lane('backoff')).state).toBe('delayed');
  const { tasks } = await client.cancelBatch(part);
  expect(tasks).toHaveLength(2);
  for (const id of tasks)
    expect(await client.getTask(id)).toMatchObject({ state: 'cancelled', batch: part, attempts: 1 });
  await reachesStatus(muster.client, next, 'committed');
  await reachesStatus(muster.client, dependent, 'failed-dependency');
  await reachesStatus(muster.client, last, 'committed');
  expect(await client.batchStatus(part)).toMatchObject({ status: 'cancelled', place: null });
  expect((await client.batchStatus(part))!.explanation).toMatch(/^cancelled in lane backoff/);
  expect(
    downstream.seen.filter(({ batch }) => [tried, part, dependent].includes(batch)).map(({ batch }) => batch),
  ).toEqual([tried]);
  expect(await client.cancelBatch(part)).toEqual({ batch: part, service: 'backoff', tasks: [] });
  expect(await client.lane('backoff')).toMatchObject({ pending: 0, depth: 0, state: 'empty' });
});

test('a batch that the downstream refused for now is cancelled; its service waits all the same, as it was asked to [G9 H5]', async () => {
  const { client } = muster;
  const refused = await submit('edits', 'throttled', -2);
  await reachesStatus(muster.client, refused, 'delayed');
  const next = await submit('edits', 'throttled');
  await client.cancelBatch(refused);
  expect(await client.lane('throttled')).toMatchObject({ depth: 1, state: 'back pressure', pending: 0 });
  await client.resumeLane('throttled');
  await reachesStatus(muster.client, next, 'committed');
});

test('in a lane that halts, a cancelled batch is no invalid one: what comes after it goes [C19]', async () => {
  const { client } = muster;
  await client.pauseQueuer();
  const [one, two] = [await submit('halting', 'strict'), await submit('halting', 'strict')];
  await client.cancelBatch(one);
  await client.resumeQueuer();
  await reachesStatus(muster.client, two, 'committed');
  expect(await client.lane('strict')).toMatchObject({ haltedBy: null, state: 'empty' });
});

test('by its tasks: all of a batch, or none of it with the reason; tasks in no batch yet one by one [G9]', async () => {
  const { client } = muster;
  await client.pauseQueuer();
  const some = items('by-task', 2);
  const { batch } = await client.submitBatch('edits', 'by-task', some);
  const single = items('by-task', 2);
  await client.submit('edits', single);
  const [a, b] = some.map(({ id }) => id);
  const partly = await client.cancel([a!, single[0]!.id]);
  expect(partly).toEqual({
    cancelled: [single[0]!.id],
    notCancelled: [
      {
        id: a,
        state: 'batched',
        batch,
        why: expect.stringMatching(/lane by-task with 1 task not named here/) as string,
      },
    ],
  });
  expect(await client.cancel([b!, a!])).toEqual({
    cancelled: expect.arrayContaining([a, b]) as string[],
    notCancelled: [],
  });
  await client.resumeQueuer();
  await client.waitFor(single[1]!.id);
  expect(downstream.seen.filter(({ service }) => service === 'by-task').map(({ ids }) => ids)).toEqual([
    [single[1]!.id],
  ]);
  expect((await client.cancel([single[1]!.id, a!])).notCancelled).toEqual([
    { id: single[1]!.id, state: 'succeeded' },
    { id: a, state: 'cancelled' },
  ]);
});

test('the recipients of a cancelled batch are told, one message [G9 A17]', async () => {
  const { client } = muster;
  await client.pauseQueuer();
  const told = items('told').map((item) => ({ ...item, callback: { workflowId: 'nobody' } }));
  const { batch } = await client.submitBatch('edits', 'told', told);
  await client.cancelBatch(batch);
  await client.resumeQueuer();
  const { rows } = await muster.database.pool.query<{ body: object }>(
    'select body from notification where batch_id = $1',
    [batch],
  );
  expect(rows).toEqual([
    { body: { handler: 'edits', target: 'told', batch, tasks: [{ id: told[0]!.id, state: 'cancelled' }] } },
  ]);
});

test('cancels that race grants and marks: every batch is cancelled or applied once, never both, and none is left [G9 C29]', async () => {
  const { client } = muster;
  let cancelled = 0;
  let refused = 0;
  for (let round = 0; round < 16; round++) {
    const services = Array.from({ length: 24 }, (_, i) => `race-${i % 6}`);
    const sets = (i: number): object => ({ writes: [`k${i % 5}`] });
    const batches = await client.submitBatches(
      'racing',
      services.map((service, i) => ({ service, items: items(service, 1, sets(i)) })),
    );
    const single = services.flatMap((service) => items(service, 1, sets(1)));
    await client.submit('racing', single);
    // In every other round in the midst of its calls, however slow the machine is: else the cancels
    // may win them all.
    if (round % 2 === 1)
      await eventually(() => batches.filter(({ batch }) => applied.has(batch)).length > 5, {
        everyMs: 1,
        what: 'the first calls',
      });
    else await new Promise((resolve) => setTimeout(resolve, (round * 7) % 40));
    const chosen = batches.filter((_, i) => (i + round) % 2 === 0);
    const [ends, byTask] = await Promise.all([
      Promise.all(
        chosen.map(({ batch }) =>
          client.cancelBatch(batch).then(
            () => true,
            (error: { code: string }) => error.code,
          ),
        ),
      ),
      client.cancel(single.filter((_, i) => i % 3 === 0).map(({ id }) => id)),
    ]);
    expect(ends.filter((end) => end !== true && end !== 'NOT_CANCELLABLE')).toEqual([]);
    const statuses = eventually(() => endsOf(batches.map(({ batch }) => batch)), { what: 'the end of every batch' });
    for (const { batch } of batches) {
      const wasCancelled = ends[chosen.findIndex((one) => one.batch === batch)] === true;
      expect([batch, (await statuses).get(batch)]).toEqual([batch, STATUSES[wasCancelled ? 'cancelled' : 'committed']]);
      expect([batch, applied.get(batch) ?? 0]).toEqual([batch, wasCancelled ? 0 : 1]);
    }
    cancelled += ends.filter((end) => end === true).length;
    refused += ends.length - ends.filter((end) => end === true).length;
    for (const task of await client.waitFor(
      single.map(({ id }) => id),
      { timeoutMs: 20_000 },
    ))
      expect([task.id, task.state]).toEqual([task.id, byTask.cancelled.includes(task.id) ? 'cancelled' : 'succeeded']);
  }
  // Both sides won often, or this was no race.
  expect(cancelled).toBeGreaterThan(30);
  expect(refused).toBeGreaterThan(30);
});
