import { defineHandler } from '../../../handlers';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { reachesStatus } from '../../helpers/reachesStatus';
import { expectWhole } from '../../helpers/whole';
import { Downstream, items, okay } from '../../lanes/downstream';

/** One verb after the commit, whatever was accepted: without a sweeper nothing else wakes. */

interface Job {
  to: string;
}
const jobs = defineHandler<Job>({
  name: 'jobs',
  target: ({ to }) => to,
  limits: { maxItems: 20 },
  linger: { lingerMs: 20 },
  submit: async (batch) => okay(batch),
});
const downstream = new Downstream();
let muster: TestMuster;
beforeAll(async () => {
  const named = downstream.handler({ name: 'named', service: (target) => target });
  muster = await startMuster([jobs, downstream.handler(), named], { sweepEveryMs: 0 });
});
afterAll(() => muster.stop());

const inTransaction = async <T>(work: (tx: never) => Promise<T>): Promise<T> => {
  const tx = await muster.database.pool.connect();
  try {
    await tx.query('begin');
    const result = await work(tx as never);
    await tx.query('commit');
    return result;
  } finally {
    tx.release();
  }
};
const job = (id: string): { id: string; payload: Job } => ({ id, payload: { to: 'a' } });

test('tasks of targets, and tasks that depend on one that has ended already', async () => {
  const { client } = muster;
  await client.submit('jobs', job('t-0'));
  await client.waitFor('t-0');
  const accepted = await inTransaction((tx) =>
    client.submit('jobs', [job('t-1'), { ...job('t-2'), dependsOn: ['t-0'] }], { tx }),
  );
  await accepted.ring();
  await client.waitFor(['t-1', 't-2'], { timeoutMs: 60_000 });
  expect(JSON.parse(JSON.stringify(accepted))).toEqual({
    accepted: 2,
    repeated: 0,
    refused: [],
    targetIds: accepted.targetIds,
  });
});

test('a stream, tasks of lanes, and batches of lanes', async () => {
  const { client } = muster;
  const given = items('po-2', 2);
  const single = items('po-1', 3);
  const stream = async function* () {
    yield* single;
  };
  const accepted = await inTransaction(async (tx) => ({
    streamed: await client.submit('named', stream(), { tx }),
    batch: await client.batches.submit('edits', 'po-2', given, { tx }),
    many: await client.batches.submitMany('edits', [{ service: 'po-3', items: items('po-3') }], { tx }),
  }));
  expect(accepted.batch).toEqual({ batch: accepted.batch.batch, service: 'po-2', accepted: true });
  await accepted.streamed.ring(); // alone: a ring of a batch wakes the queuer, too
  await client.waitFor(single[0]!.id, { timeoutMs: 60_000 });
  await accepted.batch.ring();
  await accepted.many[0]!.ring();
  await reachesStatus(client, accepted.batch.batch, 'committed');
  await reachesStatus(client, accepted.many[0]!.batch, 'committed');
  const ended = await client.waitFor(
    single.map(({ id }) => id),
    { timeoutMs: 60_000 },
  );
  expect(ended.map(({ state }) => state)).toEqual(['succeeded', 'succeeded', 'succeeded']);
  await expectWhole(client);
});

test('after a rollback it does no harm', async () => {
  const { client } = muster;
  let accepted: { ring(): Promise<void> } | undefined;
  const failed = inTransaction(async (tx) => {
    accepted = await client.submit('jobs', job('gone'), { tx });
    throw new Error('changed my mind');
  });
  await expect(failed).rejects.toThrow('changed my mind');
  await accepted!.ring();
  expect(await client.getTask('gone')).toBeNull();
  await expectWhole(client);
});
