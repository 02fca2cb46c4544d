import type { Outcomes } from '../../../activities/outcomes/outcomes';
import { defineHandler } from '../../../handlers';
import { addOutcomes } from '../../../postgres/outcomes/minute';
import { countNotedEnds } from '../../../postgres/outcomes/uncounted';
import { openWorld } from '../../api/world';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';

/**
 * However an end came about, its minute counts it once: in the memory of the process that recorded
 * it, or noted in the store. A client's own: test/client/list/noted.test.ts.
 */

type Wish = 'ok' | 'failed' | 'unknown' | 'accepted';
interface Job {
  to: string;
  as: Wish;
}
const base = {
  target: ({ to }: Job) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  retry: { maxAttempts: 1 },
};
const plain = defineHandler<Job>({
  ...base,
  name: 'plain',
  submit: ({ target, tasks }) =>
    Promise.resolve(
      tasks[0]!.payload.as === 'accepted'
        ? { status: 'accepted' as const, reference: target }
        : { results: tasks.map(({ id, payload: { as } }) => ({ id, status: as as 'ok', error: 'so' })) },
    ),
  poll: { everyMs: 600_000 },
  status: (references) => Promise.resolve(references.map((reference) => ({ reference, status: 'pending' as const }))),
  results: () => Promise.resolve([]),
});
const laned = defineHandler<Job>({
  ...base,
  name: 'laned',
  service: (to) => to,
  lane: { onInvalid: 'halt' },
  submit: () => Promise.resolve({ results: [] }),
});

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([plain, laned], { sweepEveryMs: 500 });
});
afterAll(() => muster.stop());

const job = (id: string, as: Wish, more: object = {}) => ({ id, payload: { to: id, as }, ...more });
const settled = (...ids: string[]) => muster.client.waitFor(ids, { timeoutMs: 60_000 });
const isAccepted = (reference: string) =>
  eventually(async () => {
    const asked = { text: 'select from batch where reference = $1', values: [reference] };
    return (await muster.database.pool.query(asked)).rowCount === 1;
  });

/** What the minutes say, once all that is kept in memory or noted has been added. */
const counted = async (handler: string): Promise<{ succeeded: number; failed: number }> => {
  const { pool } = muster.database;
  await addOutcomes(pool, (muster.node.deps.outcomes as Outcomes).minutes.take());
  await countNotedEnds(pool);
  const { outcomes } = await muster.client.outcomes.list({ handler });
  const sum = (end: 'succeeded' | 'failed'): number => outcomes.reduce((all, { ends }) => all + ends[end], 0);
  return { succeeded: sum('succeeded'), failed: sum('failed') };
};
/** A writer may be at work when it is asked; what would come twice is there the second time. */
const expectCounted = async (handler: string, expected: { succeeded: number; failed: number }): Promise<void> => {
  const isCounted = async (): Promise<boolean> => JSON.stringify(await counted(handler)) === JSON.stringify(expected);
  await eventually(isCounted, { timeoutMs: 15_000, what: async () => JSON.stringify(await counted(handler)) });
  expect(await counted(handler)).toEqual(expected);
};

test('by calls, expiry, dependencies, and completions of the API, a workflow and a client', async () => {
  const { client } = muster;
  await client.submit('plain', [
    job('called', 'ok'),
    job('refused', 'failed'),
    job('after refused', 'ok', { dependsOn: ['refused'] }),
    job('late', 'ok', { notBefore: '2100-01-01T00:00:00Z', expiresAt: new Date(Date.now() + 1_000) }),
    ...['by-api', 'by-workflow', 'by-client'].map((id) => job(id, 'accepted')),
    job('after the API', 'ok', { dependsOn: ['by-api'] }),
  ]);
  await Promise.all(['by-api', 'by-workflow', 'by-client'].map(isAccepted));
  const completion = (id: string, status: 'ok' | 'failed') => ({
    reference: id,
    results: [{ id, status, error: 'so' }],
  });
  const api = await openWorld({ muster, handlers: [plain, laned] });
  const route = 'POST /v1/handlers/plain/complete';
  expect((await api.call(route, { body: completion('by-api', 'failed') })).status).toBe(200);
  await settled('after the API');
  await api.stop();
  await muster.node.deps.temporal.workflow.execute('completion', {
    taskQueue: muster.prefix,
    workflowId: `${muster.prefix}/completion/plain/1`,
    args: [{ handler: 'plain', ...completion('by-workflow', 'ok') }],
  });
  await client.complete('plain', completion('by-client', 'ok'));
  await settled('called', 'refused', 'after refused', 'late', 'by-api', 'by-workflow', 'by-client');
  await expectCounted('plain', { succeeded: 3, failed: 5 });
});

test('by a batch of a lane that fails with one on which it depends', async () => {
  const { client } = muster;
  await client.submitBatch('laned', 'lost', [job('lost', 'unknown')]);
  const first = await eventually(async () => (await client.lanes.get('lost'))?.haltedBy);
  await client.submitBatch('laned', 'behind', [job('behind', 'ok')], { dependsOn: [first] });
  await client.lanes.skip('lost');
  await settled('behind');
  await expectCounted('laned', { succeeded: 0, failed: 2 });
});
