import { defineHandler } from '../../../handlers';
import { eventually } from '../../helpers/eventually';
import { SECRET } from '../notifier/receiver';
import type { OwnMuster } from '../../workflows/ownNode';
import { openOwn } from '../../workflows/ownNode';

/**
 * All workers are killed, hang or are cut off from the store, and none has stopped: what stands
 * since then is named by verify, status and explain, though no worker gives signs of life.
 */

interface Job {
  to: string;
}
const accepted = defineHandler<Job>({
  name: 'accepted',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  submit: () => Promise.resolve({ status: 'accepted', reference: 'job' }),
  poll: { everyMs: 200 },
  status: (references) => Promise.resolve(references.map((reference) => ({ reference, status: 'pending' as const }))),
  results: () => Promise.resolve([]),
});
const told = defineHandler<Job>({
  name: 'told',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  submit: (batch) => Promise.resolve({ results: batch.tasks.map((_, index) => ({ index, status: 'ok' as const })) }),
});

let muster: OwnMuster;
const query = (text: string) => muster.database.pool.query<Record<string, unknown>>({ text });
beforeAll(async () => {
  muster = await openOwn([accepted, told]);
  const stop = await muster.startNode({ callbacks: { allow: ['127.0.0.1:*'], secret: SECRET } });
  const { client } = muster;
  await client.submit('accepted', { id: 'asked', payload: { to: 'a' } });
  await client.submit('told', { id: 'over', payload: { to: 'b' }, callback: { url: 'http://127.0.0.1:9/' } });
  await eventually(async () => (await client.getTask('over'))?.state === 'succeeded');
  await eventually(async () => (await client.getTask('asked'))?.state === 'in-progress');
  const tried = 'select from notification where attempts > 0 and done_at is null';
  await eventually(async () => (await query(tried)).rowCount === 1, { what: 'a callback in vain' });
  await stop();
  await client.submit('told', { id: 'waits', payload: { to: 'c' } });
  const woken = 'select from leader where woken_at is not null';
  await eventually(async () => (await query(woken)).rowCount === 1, { what: 'the wake behind the submit' });
  // All of it for more than a minute.
  await query(`update batch set poll_at = clock() - interval '65 s' where reference is not null`);
  await query(`update notification set next_at = clock() - interval '65 s'`);
  await query(`update leader set woken_at = clock() - interval '65 s' where woken_at is not null`);
  await query(`update lease set expires_at = clock() - interval '1 hour' where resource like 'look/%'`);
});
afterAll(() => muster.stop());

const STANDS = [
  'a woken leader takes a turn',
  'a monitor with overdue batches looks',
  'a notifier with overdue notifications looks',
];
const broken = async (): Promise<string[]> =>
  (await muster.client.verify()).checks.filter(({ violations }) => violations.length > 0).map(({ name }) => name);
const standing = async (): Promise<string[]> => [
  ...new Set((await muster.client.status()).flatMap(({ stalled: all }) => all.map(({ kind }) => kind))),
];
const worker = (id: string, startedS: number, seenS: number): Promise<unknown> =>
  query(
    `insert into node (id, task_queue, handlers, started_at, seen_at)
values ('${id}', 'q', '{accepted,told}', clock() - interval '${startedS} s', clock() - interval '${seenS} s')`,
  );
beforeEach(() => query('delete from node'));

test('the last worker was lost: verify, status and explain name what stands', async () => {
  await worker('lost-before', 3_600, 600);
  await worker('lost', 3_600, 70);
  expect(await broken()).toEqual(expect.arrayContaining(STANDS));
  expect((await standing()).sort()).toEqual(['leader', 'monitor', 'notifier']);
  for (const id of ['asked', 'over']) expect((await muster.client.explain(id)).text).toContain('has stalled');
});

test.each([
  ['all workers have stopped', () => Promise.resolve()],
  ['the last worker drains', () => worker('draining', 3_600, 70).then(() => query('update node set draining = true'))],
  ['another one has just come', () => worker('lost', 3_600, 70).then(() => worker('new', 5, 1))],
])('%s: waiting is no fault', async (_, given) => {
  await given();
  expect((await broken()).filter((name) => STANDS.includes(name))).toEqual([]);
  expect(await standing()).toEqual(['leader']); // of which a wake says since when
});
