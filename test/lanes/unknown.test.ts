import type { ReconcileAnswer, ReferenceStatus } from '../../handlers';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { eventually } from '../helpers/eventually';
import { expectLanesPermitted, recordLaneMoves } from '../helpers/transitions/recordedLanes';
import { expectWhole } from '../helpers/whole';
import { reachesStatus } from '../helpers/reachesStatus';
import { Downstream, items, okay } from './downstream';

/**
 * What nobody can tell: looked up some times, pending past some deadlines, then the lane is parked
 * and says so (C9, C20, C28).
 */

const unsure = new Downstream();
const slow = new Downstream();
const keyed = new Downstream();
/** What a look-up answers, by service; and how often it was asked. */
const found = new Map<string, ReconcileAnswer['status']>();
const lookUps = new Map<string, number>();
const statuses = new Map<string, ReferenceStatus['status']>();
let muster: TestMuster;
const asynchronous = {
  status: (references: readonly string[]) =>
    Promise.resolve(
      references.map((reference) => ({ reference, status: statuses.get(reference) ?? ('pending' as const) })),
    ),
  results: (reference: string) =>
    (slow.results.get(reference) ?? keyed.results.get(reference) ?? []).map((id) => ({ id, status: 'ok' as const })),
  poll: { everyMs: 20, deadlineMs: 150 },
};
/** Look-ups of these services wait until they are let go. */
const gates = new Map<string, Promise<void>>();
const reconcile = async (batch: { target: string; tasks: readonly { id: string }[] }): Promise<ReconcileAnswer> => {
  const answer = await lookUp(batch);
  await gates.get(batch.target);
  return answer;
};
const lookUp = (batch: { target: string; tasks: readonly { id: string }[] }): Promise<ReconcileAnswer> => {
  lookUps.set(batch.target, (lookUps.get(batch.target) ?? 0) + 1);
  const status = found.get(batch.target) ?? 'unsure';
  if (status === 'done')
    return Promise.resolve({ status, results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
  return Promise.resolve(status === 'accepted' ? { status, reference: `again-${batch.target}` } : { status });
};
beforeAll(async () => {
  unsure.answer = (batch, _, times) => {
    if (batch.target === 'late-absent' && times === 1) found.set(batch.target, 'unsure');
    throw new Error('connection reset');
  };
  const accept =
    (one: Downstream): Downstream['answer'] =>
    (batch) => {
      const reference = `${batch.handler}-${batch.id}-${batch.attempt}`;
      one.results.set(
        reference,
        batch.tasks.map(({ id }) => id),
      );
      return { status: 'accepted', reference };
    };
  slow.answer = accept(slow);
  keyed.answer = accept(keyed);
  muster = await startMuster([
    unsure.handler({
      name: 'unsure',
      idempotency: 'none',
      reconcile,
      lane: { lookUps: 3, lookUpEveryMs: 100 },
    }),
    ...(['parallel', 'unconstrained'] as const).map((approach) =>
      unsure.handler({
        name: approach,
        idempotency: 'none',
        reconcile,
        lane: { approach, lookUps: 5, lookUpEveryMs: 100 },
      }),
    ),
    slow.handler({
      name: 'slow',
      idempotency: 'none',
      reconcile,
      lane: { lookUps: 2, lookUpEveryMs: 50 },
      ...asynchronous,
    }),
    keyed.handler({ name: 'keyed', lane: { deadlines: 2 }, ...asynchronous }),
  ]);
  await recordLaneMoves(muster.database.pool);
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));
const submit = async (handler: string, service: string): Promise<number> =>
  (await muster.client.submitBatch(handler, service, items(service))).batch;
const callsOf = (one: Downstream, service: string) => one.seen.filter((call) => call.service === service);

test('unsure, and not safe to send again: looked up as often as the handler says, then parked with the reason [C28]', async () => {
  const { client } = muster;
  const first = await submit('unsure', 'never');
  const next = await submit('unsure', 'never');
  await reachesStatus(muster.client, first, 'parked');
  expect(lookUps.get('never')).toBe(3);
  expect(callsOf(unsure, 'never')).toHaveLength(1);
  const { state, haltedBy, reason } = await client.lane('never');
  expect({ state, haltedBy }).toEqual({ state: 'halted', haltedBy: first });
  expect(reason).toMatch(/^unknown: 3 look-ups did not establish whether it was applied.*connection reset/);
  expect((await client.batchStatus(next))!.status).toBe('unsubmitted');
});

test.each([
  ['done', 1, 'committed'],
  ['absent', 2, 'parked'],
] as const)(
  'the second look-up says %s: it is over, or sent again, before anything else of its lane [C20]',
  async (answer, calls, status) => {
    const service = `late-${answer}`;
    const first = await submit('unsure', service);
    await eventually(() => lookUps.get(service) === 1);
    expect(['unknown', 'submitted']).toContain((await muster.client.batchStatus(first))!.status);
    found.set(service, answer);
    await reachesStatus(muster.client, first, status);
    expect(callsOf(unsure, service).map(({ batch }) => batch)).toEqual(Array.from({ length: calls }, () => first));
    // A clear answer starts the count anew: after the second call it was looked up three times
    // more.
    if (answer === 'absent') expect(lookUps.get(service)).toBeGreaterThanOrEqual(5);
  },
);

test.each(['parallel', 'unconstrained'] as const)(
  '%s: while an unknown outcome is looked up, at once or later, nothing that was not sent goes [C17 C28]',
  async (handler) => {
    const service = `looked-up-${handler}`;
    let letGo: () => void = () => undefined;
    const close = (): void => void gates.set(service, new Promise((resolve) => (letGo = resolve)));
    const keys = ['a', 'b', 'c'].values();
    const next = async (): Promise<number> =>
      (await muster.client.submitBatch(handler, service, items(service, 1, { writes: [keys.next().value!] }))).batch;
    /** The queuer has looked since: what came later, in another lane, has been sent. */
    const looked = async (other: string): Promise<void> => {
      await submit(handler, other);
      await eventually(() => callsOf(unsure, other).length > 0);
    };
    const sent = (): number[] => callsOf(unsure, service).map(({ batch }) => batch);
    close();
    const first = await next();
    await eventually(() => lookUps.get(service) === 1);
    const second = await next();
    await looked(`${service}-1`);
    expect(sent()).toEqual([first]);
    // It found nothing out. The next look-up, from the queue:
    const open = letGo;
    close();
    open();
    await eventually(() => lookUps.get(service) === 2);
    const third = await next(); // rings the lane
    await looked(`${service}-2`);
    expect(sent()).toEqual([first]);
    found.set(service, 'done');
    gates.delete(service);
    letGo();
    for (const batch of [first, second, third]) await reachesStatus(muster.client, batch, 'committed');
    expect(sent()[0]).toBe(first);
  },
);

test('pending past its deadline and sent again with its key: after as many deadlines as the handler says its lane is parked [C9]', async () => {
  const first = await submit('keyed', 'for-ever');
  const next = await submit('keyed', 'for-ever');
  await reachesStatus(muster.client, first, 'parked');
  expect(callsOf(keyed, 'for-ever').map(({ batch }) => batch)).toEqual([first, first]);
  expect(new Set(callsOf(keyed, 'for-ever').map(({ key }) => key)).size).toBe(1);
  const { reason } = await muster.client.lane('for-ever');
  expect(reason).toMatch(/pending for too long: it passed its deadline 2 times without an end/);
  expect((await muster.client.batchStatus(next))!.status).toBe('unsubmitted');
});

test('pending past its deadline, a look-up unsure: looked up again, never sent again, then parked; a true answer still counts [C9 C28]', async () => {
  const { client } = muster;
  const some = items('overdue');
  const first = (await client.submitBatch('slow', 'overdue', some)).batch;
  const next = await submit('slow', 'overdue');
  await reachesStatus(muster.client, first, 'parked');
  expect([lookUps.get('overdue'), callsOf(slow, 'overdue').length]).toEqual([2, 1]);
  expect((await client.lane('overdue')).reason).toMatch(/^unknown: 2 look-ups/);
  slow.answer = okay; // before the next one goes
  await client.complete('slow', { batchId: first, results: [{ id: some[0]!.id, status: 'ok' }] });
  await reachesStatus(muster.client, first, 'committed');
  // Nothing is left for an operator to decide.
  await reachesStatus(muster.client, next, 'committed');
  expect(await client.lane('overdue')).toMatchObject({ haltedBy: null, reason: null });
});

// Last: it judges what the tests before it made.
test('each change of a status is one that the table of transitions permits', () =>
  expectLanesPermitted(muster.database.pool, ['submitted -> unknown', 'unknown -> submitted']));
