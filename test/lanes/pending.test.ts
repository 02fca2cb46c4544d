import type { ReferenceStatus } from '../../handlers';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { eventually } from '../helpers/eventually';
import { expectLanesPermitted, recordLaneMoves } from '../helpers/transitions/recordedLanes';
import { expectWhole } from '../helpers/whole';
import { reachesStatus } from '../helpers/reachesStatus';
import { Downstream, items } from './downstream';

/**
 * Asynchronous downstreams in lanes (H7): accepted now, committed later, asked for in bulk or told
 * by a callback.
 *
 * @slow
 */

const downstream = new Downstream();
const statuses = new Map<string, ReferenceStatus['status']>();
const asked: string[][] = [];
const parallel = new Downstream();
let muster: TestMuster;
const asynchronous = {
  status: async (references: readonly string[]) => {
    asked.push([...references]);
    return references.map((reference) => ({ reference, status: statuses.get(reference) ?? ('pending' as const) }));
  },
  results: async function* (reference: string) {
    yield* (downstream.results.get(reference) ?? parallel.results.get(reference) ?? []).map((id) => ({
      id,
      status: 'ok' as const,
    }));
  },
  poll: { everyMs: 50, deadlineMs: 60_000 },
};
beforeAll(async () => {
  muster = await startMuster([
    downstream.handler(asynchronous),
    parallel.handler({ name: 'beside', lane: { approach: 'parallel', pendingLimit: 4 }, ...asynchronous }),
  ]);
  for (const one of [downstream, parallel])
    one.answer = (batch) => {
      const reference = `ref-${batch.id}-${batch.attempt}`;
      one.results.set(
        reference,
        batch.tasks.map(({ id }) => id),
      );
      return { status: 'accepted', reference };
    };
  await recordLaneMoves(muster.database.pool);
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));
const referenceOf = async (batch: number): Promise<string> => (await muster.client.batchStatus(batch))!.reference!;

test('the next of a serial lane goes only after the one before was committed, not when it was accepted [C1]', async () => {
  const { client } = muster;
  const first = (await client.submitBatch('edits', 's-1', items('s-1'))).batch;
  const second = (await client.submitBatch('edits', 's-1', items('s-1'))).batch;
  await reachesStatus(muster.client, first, 'pending');
  await eventually(() => asked.length >= 3);
  expect(downstream.seen.filter(({ service }) => service === 's-1')).toHaveLength(1);
  expect((await client.batchStatus(second))!.explanation).toMatch(
    new RegExp(`second in lane s-1.*commit of batch ${first}`),
  );
  expect(await client.lane('s-1')).toMatchObject({ state: 'waiting for commit', pending: 1 });
  statuses.set(await referenceOf(first), 'done');
  await reachesStatus(muster.client, second, 'pending');
  expect((await client.batchStatus(first))!.status).toBe('committed');
  statuses.set(await referenceOf(second), 'done');
  await reachesStatus(muster.client, second, 'committed');
});

test('explain says when an accepted batch is asked about again, or that it is not polled', async () => {
  const { client, database } = muster;
  const { batch } = await client.submitBatch('edits', 'told-1', items('told-1'));
  await reachesStatus(muster.client, batch, 'pending');
  const says = async (what: RegExp): Promise<boolean> => what.test((await client.batchStatus(batch))!.explanation);
  await eventually(() =>
    says(/^first in lane told-1, was accepted and is pending for .*; the next poll is in [\d.]+ m?s\.$/),
  );
  // Again each time: a status request that was under way puts the next one where it was.
  await eventually(async () => {
    await database.pool.query(
      `update batch set poll_at = clock() + interval '2 h', poll_until = clock() + interval '1 h' where id = $1`,
      [batch],
    );
    return says(/; it is not polled: it is parked unless its completion arrives within 60 min\.$/);
  });
  await database.pool.query('update batch set poll_at = clock() where id = $1', [batch]);
  statuses.set(await referenceOf(batch), 'done');
  await reachesStatus(muster.client, batch, 'committed');
});

test('many are asked about in one call [H7]', async () => {
  const { client } = muster;
  const batches: number[] = [];
  for (let i = 0; i < 12; i++) batches.push((await client.submitBatch('edits', `bulk-${i}`, items(`bulk-${i}`))).batch);
  for (const batch of batches) await reachesStatus(muster.client, batch, 'pending');
  const before = asked.length;
  await eventually(() => asked.slice(before).some((references) => references.length >= 6));
  for (const batch of batches) statuses.set(await referenceOf(batch), 'done');
  for (const batch of batches) await reachesStatus(muster.client, batch, 'committed');
});

test('a batch that the downstream lost is sent again, before any other of its lane, with the same key [C17]', async () => {
  const { client } = muster;
  const first = (await client.submitBatch('edits', 'lost', items('lost'))).batch;
  const second = (await client.submitBatch('edits', 'lost', items('lost'))).batch;
  await reachesStatus(muster.client, first, 'pending');
  statuses.set(await referenceOf(first), 'lost');
  await eventually(() => downstream.seen.filter(({ service }) => service === 'lost').length === 2);
  const calls = downstream.seen.filter(({ service }) => service === 'lost');
  expect(calls.map(({ batch }) => batch)).toEqual([first, first]);
  expect(calls[0]!.key).toBe(calls[1]!.key);
  await eventually(async () => (await client.batchStatus(first))!.reference !== null);
  statuses.set(await referenceOf(first), 'done');
  await reachesStatus(muster.client, second, 'pending');
  statuses.set(await referenceOf(second), 'done');
  await reachesStatus(muster.client, second, 'committed');
});

test('completion by a callback: the lane goes on at once', async () => {
  const { client } = muster;
  const some = items('called');
  const first = (await client.submitBatch('edits', 'called', some)).batch;
  const second = (await client.submitBatch('edits', 'called', items('called'))).batch;
  await reachesStatus(muster.client, first, 'pending');
  await client.complete('edits', { batchId: first, results: [{ id: some[0]!.id, status: 'ok' }] });
  await reachesStatus(muster.client, second, 'pending');
  statuses.set(await referenceOf(second), 'done');
  await reachesStatus(muster.client, second, 'committed');
});

test('in a parallel lane what does not conflict goes early, what does waits for the commit [C25]', async () => {
  const { client } = muster;
  const submit = async (reads: string[], writes: string[]) =>
    (await client.submitBatch('beside', 'keys', items('keys'), { reads, writes })).batch;
  const one = await submit([], ['a']);
  const two = await submit(['a'], ['b']);
  const three = await submit(['c'], ['d']);
  await reachesStatus(muster.client, one, 'pending');
  await reachesStatus(muster.client, three, 'pending');
  expect((await client.batchStatus(two))!.status).toBe('unsubmitted');
  expect((await client.batchStatus(two))!.explanation).toMatch(/key a/);
  statuses.set(await referenceOf(one), 'done');
  await reachesStatus(muster.client, two, 'pending');
  for (const batch of [two, three]) statuses.set(await referenceOf(batch), 'done');
  for (const batch of [two, three]) await reachesStatus(muster.client, batch, 'committed');
});

test('at its pending limit a lane waits until fewer than half are left [C14]', async () => {
  const { client } = muster;
  const batches: number[] = [];
  for (let i = 0; i < 6; i++)
    batches.push((await client.submitBatch('beside', 'limit', items('limit'), { writes: [`k${i}`] })).batch);
  for (const batch of batches.slice(0, 4)) await reachesStatus(muster.client, batch, 'pending');
  expect(await client.lane('limit')).toMatchObject({ state: 'back pressure', pending: 4 });
  for (const batch of batches.slice(0, 2)) statuses.set(await referenceOf(batch), 'done');
  for (const batch of batches.slice(0, 2)) await reachesStatus(muster.client, batch, 'committed');
  expect(await client.lane('limit')).toMatchObject({ state: 'back pressure', pending: 2 }); // below 4, not below 2
  expect(parallel.seen.filter(({ service }) => service === 'limit')).toHaveLength(4);
  statuses.set(await referenceOf(batches[2]!), 'done');
  for (const batch of batches.slice(4)) await reachesStatus(muster.client, batch, 'pending');
  for (const batch of batches.slice(3)) statuses.set(await referenceOf(batch), 'done');
  for (const batch of batches.slice(3)) await reachesStatus(muster.client, batch, 'committed');
});

// Last: it judges what the tests before it made.
test('each change of a status is one that the table of transitions permits', () =>
  expectLanesPermitted(muster.database.pool, ['submitted -> pending', 'pending -> committed']));
