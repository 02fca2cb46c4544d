import { dependenciesOf } from '../../../activities/lanes/handOver';
import type { Handler, ReferenceStatus, SubmitAnswer } from '../../../handlers';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { reachesStatus } from '../../helpers/reachesStatus';
import { expectWhole } from '../../helpers/whole';
import type { Seen } from '../downstream';
import { Downstream, items } from '../downstream';

/**
 * A downstream that accepts batches and keeps their dependencies itself: it is sent a batch as soon
 * as it has what the batch depends on. The sweeper is off, so each acceptance must free by itself
 * what waits for it.
 */

const statuses = new Map<string, ReferenceStatus['status']>();
const pending = (one: Downstream) => ({
  status: (references: readonly string[]) =>
    Promise.resolve(
      references.map((reference) => ({ reference, status: statuses.get(reference) ?? 'pending' }) as const),
    ),
  results: (reference: string) => one.results.get(reference)!.map((id) => ({ id, status: 'ok' as const })),
  poll: { everyMs: 50, deadlineMs: 3_600_000 },
});
const knowing = new Downstream();
const holding = new Downstream();
/** What the next call of a service is answered, once each. */
const answers = new Map<string, (() => Promise<SubmitAnswer> | SubmitAnswer)[]>();
let muster: TestMuster;
beforeAll(async () => {
  for (const one of [knowing, holding])
    one.answer = (batch) => {
      const answer = answers.get(batch.target)?.shift();
      if (answer !== undefined) return answer();
      const reference = `ref-${batch.id}-${batch.attempt}`;
      one.results.set(
        reference,
        batch.tasks.map(({ id }) => id),
      );
      return { status: 'accepted', reference };
    };
  muster = await startMuster(
    [
      knowing.handler({
        name: 'knowing',
        lane: { dependencies: 'downstream' },
        retry: { delayed: { baseMs: 50, maxMs: 50 } },
        reconcile: async (batch) => {
          const reference = `ref-${batch.id}-${batch.attempt}`;
          knowing.results.set(
            reference,
            batch.tasks.map(({ id }) => id),
          );
          return { status: 'accepted', reference };
        },
        ...pending(knowing),
      }),
      holding.handler({ name: 'holding', ...pending(holding) }),
    ],
    { sweepEveryMs: 0 },
  );
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));

const callsOf = (batch: number, one = knowing): Seen[] => one.seen.filter((call) => call.batch === batch);
const submit = async (service: string, dependsOn: number[] = [], handler = 'knowing'): Promise<number> =>
  (await muster.client.submitBatch(handler, service, items(service), { dependsOn })).batch;
const referenceOf = async (batch: number): Promise<string> => (await muster.client.batchStatus(batch))!.reference!;
const finish = async (batch: number, as: 'done' | 'failed' = 'done'): Promise<void> => {
  await reachesStatus(muster.client, batch, 'pending');
  statuses.set(await referenceOf(batch), as);
  await reachesStatus(muster.client, batch, as === 'done' ? 'committed' : 'invalid');
};
const explained = async (batch: number): Promise<string> => (await muster.client.batchStatus(batch))!.explanation;
/** Holds the next call of a service until it is let go. */
const holdCall = (service: string): (() => void) => {
  let letGo: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (letGo = resolve));
  answers.set(service, [() => gate.then(() => ({ status: 'accepted', reference: `held-${service}` }))]);
  return letGo;
};

test('a batch is sent as soon as the downstream has what it depends on, with the name of that [C18]', async () => {
  const letGo = holdCall('a-1');
  const first = await submit('a-1');
  const second = await submit('a-2', [first]);
  const third = await submit('a-3', [first, second]);
  await eventually(() => callsOf(first).length === 1);
  expect(await explained(second)).toMatch(new RegExp(`depends on batch ${first}`));
  letGo();
  await reachesStatus(muster.client, third, 'pending');
  expect(await muster.client.batchStatus(first)).toMatchObject({ status: 'pending' });
  const named = (batch: number, reference: string | null, committed = false) => ({
    batch: String(batch),
    reference,
    committed,
  });
  expect(callsOf(first).map(({ dependsOn }) => dependsOn)).toEqual([undefined]);
  expect(callsOf(second).map(({ dependsOn }) => dependsOn)).toEqual([[named(first, 'held-a-1')]]);
  expect(callsOf(third).map(({ dependsOn }) => dependsOn)).toEqual([
    [named(first, 'held-a-1'), named(second, await referenceOf(second))],
  ]);
  knowing.results.set('held-a-1', callsOf(first)[0]!.ids);
  for (const batch of [first, second, third]) await finish(batch);
});

test('what is left of a dependency goes on in a batch of its own, beside what was sent after it', async () => {
  const first = await submit('h-1');
  const second = await submit('h-2', [first]);
  await reachesStatus(muster.client, second, 'pending');
  const reference = await referenceOf(first);
  knowing.results.set(reference, []);
  statuses.set(reference, 'expired');
  const again = (): Seen[] => knowing.seen.filter(({ service, batch }) => service === 'h-1' && batch !== first);
  await eventually(() => again().length === 1);
  await expectWhole(muster.client);
  for (const batch of [again()[0]!.batch, second]) await finish(batch);
});

test('what was answered at once has no name, and what is committed is said to be', async () => {
  answers.set('b-1', [() => ({ results: [{ index: 0, status: 'ok' }] })]);
  const first = await submit('b-1');
  const other = await submit('b-2');
  await finish(other);
  await reachesStatus(muster.client, first, 'committed');
  const letGo = holdCall('b-3');
  const third = await submit('b-3');
  const last = await submit('b-4', [first, other, third]);
  letGo();
  await reachesStatus(muster.client, last, 'pending');
  // A dependency that had ended when it was named is none any more.
  expect(callsOf(last)[0]!.dependsOn).toEqual([{ batch: String(third), reference: 'held-b-3', committed: false }]);
});

test('an acceptance that a look-up finds frees what waits for it, too', async () => {
  answers.set('c-1', [() => Promise.reject(new Error('connection reset'))]);
  const first = await submit('c-1');
  const second = await submit('c-2', [first]);
  await reachesStatus(muster.client, second, 'pending');
  expect(callsOf(first)).toHaveLength(1);
  for (const batch of [first, second]) await finish(batch);
});

test('by default, and for batches of another handler, it is held until they are committed', async () => {
  const other = await submit('d-1', [], 'holding');
  const held = await submit('d-2', [other], 'holding');
  const third = await submit('d-3', [other]);
  await reachesStatus(muster.client, other, 'pending');
  // A batch that waits for nothing goes meanwhile: the others had their chance.
  await reachesStatus(muster.client, await submit('d-4'), 'pending');
  await reachesStatus(muster.client, await submit('d-5', [], 'holding'), 'pending');
  for (const batch of [held, third]) {
    expect(await muster.client.batchStatus(batch)).toMatchObject({ status: 'unsubmitted' });
    expect(await explained(batch)).toMatch(new RegExp(`depends on batch ${other}`));
  }
  await finish(other);
  await reachesStatus(muster.client, third, 'pending');
  await reachesStatus(muster.client, held, 'pending');
  expect(callsOf(third)[0]!.dependsOn).toBeUndefined();
  expect(callsOf(held, holding)[0]!.dependsOn).toBeUndefined();
});

test('what the downstream has is left to it when a dependency fails; what it has not fails unsent', async () => {
  const { client } = muster;
  const first = await submit('e-1');
  const sent = await submit('e-2', [first]);
  await reachesStatus(client, sent, 'pending');
  await finish(await submit('e-3'));
  await client.pauseLane('e-3');
  const unsent = await submit('e-3', [first]);
  await finish(first, 'failed');
  await client.resumeLane('e-3');
  await reachesStatus(client, unsent, 'failed-dependency');
  expect(callsOf(unsent)).toHaveLength(0);
  expect(await client.batchStatus(sent)).toMatchObject({ status: 'pending' });
  await finish(sent, 'failed');
});

test('refused for now, it is not sent again once its dependency has failed', async () => {
  const { client } = muster;
  answers.set('f-2', [() => ({ status: 'later', retryAfterMs: 3_000 })]);
  const first = await submit('f-1');
  const second = await submit('f-2', [first]);
  await reachesStatus(client, second, 'delayed');
  await finish(first, 'failed');
  await reachesStatus(client, second, 'failed-dependency');
  expect(callsOf(second)).toHaveLength(1);
  const [task] = callsOf(second)[0]!.ids;
  expect(await client.getTask(task!)).toMatchObject({ state: 'failed', attempts: 0 });
});

test('a dependency that the downstream lost is there again before what depends on it is sent', async () => {
  const { client } = muster;
  answers.set('g-2', [() => ({ status: 'later', retryAfterMs: 1_000 })]);
  const first = await submit('g-1');
  const second = await submit('g-2', [first]);
  await reachesStatus(client, second, 'delayed');
  await client.pauseLane('g-1');
  await client.lanes.reportLost('g-1', { reason: 'fail-over' });
  await reachesStatus(client, first, 'unknown');
  await eventually(async () => /depends on batch/.test(await explained(second)));
  expect(callsOf(second)).toHaveLength(1);
  // A batch that was granted right before that is given back, too.
  const deps = { pool: muster.database.pool, handler: { lane: { dependencies: 'downstream' } } as Handler };
  expect(await dependenciesOf(deps, { id: second, unsure: false })).toBeNull();
  await client.resumeLane('g-1');
  await reachesStatus(client, second, 'pending');
  expect(callsOf(second)[1]!.dependsOn).toEqual([
    { batch: String(first), reference: await referenceOf(first), committed: false },
  ]);
  for (const batch of [first, second]) await finish(batch);
});
