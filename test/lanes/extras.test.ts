import { readAccepted } from '../../postgres/calls/batch';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { eventually } from '../helpers/eventually';
import { reachesStatus } from '../helpers/reachesStatus';
import { Downstream, items, okay } from './downstream';

/**
 * What else the spec asks of lanes, on real servers: submitters, guaranteed order, receipts, the
 * monitor's order, stopping.
 */

const plain = new Downstream();
const guaranteed = new Downstream();
const strict = new Downstream();
const done = new Set<string>();
let muster: TestMuster;
const accept =
  (one: Downstream): Downstream['answer'] =>
  (batch) => {
    one.results.set(
      `ref-${batch.id}`,
      batch.tasks.map(({ id }) => id),
    );
    return { status: 'accepted', reference: `ref-${batch.id}` };
  };
const asynchronous = (one: Downstream, everyMs: number) => ({
  status: (references: readonly string[]) =>
    Promise.resolve(
      references.map((reference) => ({
        reference,
        status: done.has(reference) ? ('done' as const) : ('pending' as const),
      })),
    ),
  results: (reference: string) => one.results.get(reference)!.map((id) => ({ id, status: 'ok' as const })),
  poll: { everyMs, deadlineMs: 3_600_000 },
});
beforeAll(async () => {
  guaranteed.answer = accept(guaranteed);
  muster = await startMuster([
    plain.handler(),
    guaranteed.handler({ name: 'guaranteed', lane: { kind: 'guaranteed' }, ...asynchronous(guaranteed, 30) }),
    strict.handler({ name: 'strict' }),
  ]);
});
afterAll(() => muster.stop());
const submit = async (handler: string, service: string): Promise<number> =>
  (await muster.client.submitBatch(handler, service, items(service))).batch;

test('a submitter has one batch at a time: never more calls at once than there are submitters [C2]', async () => {
  const { client } = muster;
  await client.setQueuer({ slots: 3 });
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  plain.answer = async (batch) => {
    await gate;
    return okay(batch);
  };
  const batches = Array.from({ length: 12 }, (_, i) => ({ service: `many-${i}`, items: items(`many-${i}`) }));
  await client.submitBatches('edits', batches);
  await eventually(() => plain.inFlight === 3);
  expect(await client.queuer()).toMatchObject([{ slots: 3, taken: 3, ready: 9 }]);
  open();
  await client.waitFor(
    batches.flatMap((batch) => batch.items.map(({ id }) => id)),
    { timeoutMs: 60_000 },
  );
  expect(plain.mostInFlight).toBe(3);
  await client.setQueuer({ slots: 16 });
});

test('where the downstream keeps the order, the next goes when the one before was accepted, in the same order [C14 C15]', async () => {
  const batches: number[] = [];
  for (let i = 0; i < 5; i++) batches.push(await submit('guaranteed', 'order'));
  for (const batch of batches) await reachesStatus(muster.client, batch, 'pending');
  expect(guaranteed.seen.map(({ batch }) => batch)).toEqual(batches);
  for (const batch of batches) done.add(`ref-${batch}`);
  for (const batch of batches) await reachesStatus(muster.client, batch, 'committed');
});

test('receipts of each item: valid, or invalid with message and data; attempts and last error of the batch', async () => {
  const { client } = muster;
  strict.answer = (batch, _, times) => {
    if (times === 0) return { status: 'later', error: 'not now', retryAfterMs: 1_000 };
    return {
      results: batch.tasks.map(({ id }, index) =>
        index === 1
          ? { id, status: 'failed' as const, error: 'price below cost', result: { cost: 4 } }
          : { id, status: 'ok' as const, result: { at: index } },
      ),
    };
  };
  const some = items('receipts', 3);
  const { batch } = await client.submitBatch('strict', 'receipts', some);
  await reachesStatus(muster.client, batch, 'delayed');
  expect(await client.batchStatus(batch)).toMatchObject({ attempts: 1, error: 'not now' });
  expect((await client.receipts(batch)).map(({ receipt, state }) => [receipt, state])).toEqual(
    some.map(() => [null, 'created']),
  );
  await reachesStatus(muster.client, batch, 'committed');
  expect(await client.batchStatus(batch)).toMatchObject({ attempts: 2 });
  expect(await client.receipts(batch)).toEqual([
    { id: some[0]!.id, receipt: 'valid', state: 'succeeded', message: null, data: { at: 0 } },
    { id: some[1]!.id, receipt: 'invalid', state: 'failed', message: 'price below cost', data: { cost: 4 } },
    { id: some[2]!.id, receipt: 'valid', state: 'succeeded', message: null, data: { at: 2 } },
  ]);
  await expect(client.receipts(987_654)).rejects.toThrow(/Batch "987654" not found/);
});

test('receipts of more than 16 MB of values say that data is omitted', async () => {
  const value = 'x'.repeat(900_000);
  strict.answer = (batch) => ({
    results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const, result: value })),
  });
  const some = items('large', 18);
  const { batch } = await muster.client.submitBatch('strict', 'large', some);
  await reachesStatus(muster.client, batch, 'committed');
  const receipts = await muster.client.receipts(batch);
  expect(receipts).toEqual(
    some.map(({ id }) => ({ id, receipt: 'valid', state: 'succeeded', message: null, dataOmitted: true })),
  );
  expect((await muster.client.getTask(some[0]!.id))!.result).toBe(value);
});

test('the monitor asks about the oldest last check first', async () => {
  const { pool } = muster.database;
  const { rows } = await pool.query<{ id: number }>(`select id from batch where leader_id = 0 order by id limit 3`);
  const ids = rows.map(({ id }) => id);
  const tx = await pool.connect();
  try {
    await tx.query('begin');
    for (const [i, agoS] of [20, 40, 30].entries())
      await tx.query(
        `update batch set state = 1, finished_at = null, n_left = 0, reference = 'r', poll_at = clock() - $2 * interval '1 s' where id = $1`,
        [ids[i], agoS],
      );
    const asked = await readAccepted(tx, 'edits', 2);
    expect(asked.map(({ id }) => id)).toEqual([ids[1], ids[2]]);
  } finally {
    await tx.query('rollback');
    tx.release();
  }
});

test('stop: the dispatch that runs finishes, none starts', async () => {
  const other = new Downstream();
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  other.answer = async (batch) => {
    await gate;
    return okay(batch);
  };
  const stopped = await startMuster([other.handler()]);
  try {
    const first = (await stopped.client.submitBatch('edits', 'stop', items('stop'))).batch;
    const next = (await stopped.client.submitBatch('edits', 'stop', items('stop'))).batch;
    await eventually(() => other.seen.length === 1);
    stopped.node.shutdown();
    open();
    const status = async (batch: number) => (await stopped.client.batchStatus(batch))!.status;
    await eventually(async () => (await status(first)) === 'committed');
    await eventually(async () => (await stopped.client.queuer())[0]!.taken === 0);
    expect([await status(next), other.seen.length]).toEqual(['unsubmitted', 1]);
  } finally {
    open();
    await stopped.stop();
  }
});
