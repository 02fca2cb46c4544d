import type { ReferenceStatus } from '../../../handlers';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { eventually } from '../../helpers/eventually';
import { reachesStatus } from '../../helpers/reachesStatus';
import { expectLanesPermitted, recordLaneMoves } from '../../helpers/transitions/recordedLanes';
import { expectWhole } from '../../helpers/whole';
import { Downstream, items } from '../downstream';

/**
 * A downstream that says once that it lost everything which it had accepted after a batch.
 *
 * @slow
 */

const downstream = new Downstream();
const unsafe = new Downstream();
const statuses = new Map<string, ReferenceStatus['status']>();
let muster: TestMuster;
const asynchronous = (one: Downstream) => ({
  lane: { kind: 'guaranteed' as const },
  status: (references: readonly string[]) =>
    Promise.resolve(
      references.map((reference) => ({ reference, status: statuses.get(reference) ?? ('pending' as const) })),
    ),
  results: (reference: string) => one.results.get(reference)!.map((id) => ({ id, status: 'ok' as const })),
  poll: { everyMs: 50, deadlineMs: 3_600_000 },
});
beforeAll(async () => {
  for (const one of [downstream, unsafe])
    one.answer = (batch) => {
      const reference = `ref-${batch.id}-${batch.attempt}`;
      const ids = batch.tasks.map(({ id }) => id);
      one.results.set(reference, ids);
      return { status: 'accepted', reference };
    };
  muster = await startMuster([
    downstream.handler(asynchronous(downstream)),
    unsafe.handler({ name: 'unsafe', idempotency: 'none', ...asynchronous(unsafe) }),
  ]);
  await recordLaneMoves(muster.database.pool);
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));

const callsOf = (service: string, one = downstream) => one.seen.filter((call) => call.service === service);
const referenceOf = async (batch: number): Promise<string> => (await muster.client.batchStatus(batch))!.reference!;
const finish = async (batch: number): Promise<void> => {
  await reachesStatus(muster.client, batch, 'pending');
  statuses.set(await referenceOf(batch), 'done');
  await reachesStatus(muster.client, batch, 'committed');
};
/** Submits so many batches, and waits until the downstream has accepted them. */
const accepted = async (service: string, n: number, handler = 'edits'): Promise<number[]> => {
  const batches = Array.from({ length: n }, () => ({ service, items: items(service) }));
  const submitted = await muster.client.submitBatches(handler, batches);
  for (const { batch } of submitted) await reachesStatus(muster.client, batch, 'pending');
  return submitted.map(({ batch }) => batch);
};

test('what was accepted after a batch is sent again, in order and with the same keys; the rest is not [C17]', async () => {
  const [done, kept, ...lost] = await accepted('after', 5);
  await finish(done!);
  const answer = await muster.client.lanes.reportLost('after', { afterBatch: kept!, reason: 'fail-over' });
  expect(answer).toMatchObject({ batches: 3, first: lost[0], last: lost[2] });
  expect((await muster.client.batchStatus(lost[2]!))!.explanation).toMatch(/unknown|waits behind/);
  await finish(kept!);
  for (const batch of lost) {
    await eventually(() => callsOf('after').filter((call) => call.batch === batch).length === 2);
    await finish(batch);
  }
  expect(callsOf('after').map(({ batch }) => batch)).toEqual([done, kept, ...lost, ...lost]);
  for (const batch of lost)
    expect(new Set(callsOf('after').flatMap((c) => (c.batch === batch ? c.key : []))).size).toBe(1);
});

test('without a batch: all that has not ended; a repeat of the same notice changes nothing [C17]', async () => {
  const [done, ...lost] = await accepted('all', 3);
  await finish(done!);
  const { batches, acceptedBefore } = await muster.client.lanes.reportLost('all');
  expect(batches).toBe(2);
  await eventually(() => callsOf('all').filter((call) => call.batch === lost[0]).length === 2);
  await reachesStatus(muster.client, lost[0]!, 'pending');
  expect((await muster.client.lanes.reportLost('all', { acceptedBefore })).batches).toBe(0);
  for (const batch of lost) await finish(batch);
  expect((await muster.client.lanes.reportLost('all')).batches).toBe(0);
  expect(callsOf('all').map(({ batch }) => batch)).toEqual([done, ...lost, ...lost]);
});

test('by reference; without idempotency a lost batch is parked with the reason, never sent blindly', async () => {
  const [first, second] = await accepted('blind', 2, 'unsafe');
  await muster.client.lanes.reportLost('blind', { afterReference: await referenceOf(first!), reason: 'fork' });
  await finish(first!);
  await reachesStatus(muster.client, second!, 'parked');
  expect((await muster.client.lane('blind')).reason).toMatch(new RegExp(`reported lost after batch ${first}: fork`));
  expect(callsOf('blind', unsafe)).toHaveLength(2);
  await muster.client.fixHead('blind', { as: 'applied' });
});

test('a notice that names no batch of the lane is refused, and changes nothing', async () => {
  const [here] = await accepted('here', 1);
  const [there] = await accepted('there', 1);
  const told = (options: object) => muster.client.lanes.reportLost('here', options);
  await expect(told({ afterBatch: there! })).rejects.toThrow(
    `afterBatch: expected a batch of lane here, got ${there}. It is in lane there. Nothing was changed.`,
  );
  await expect(told({ afterBatch: 999_999 })).rejects.toThrow(/afterBatch: .*got 999999. No batch with it/);
  await expect(told({ afterReference: 'none' })).rejects.toThrow(/afterReference: .*lane here, got "none"/);
  await expect(told({ afterBatch: here!, afterReference: 'r' })).rejects.toThrow(/afterReference: expected nothing/);
  await expect(told({ acceptedBefore: 'now' })).rejects.toThrow(/acceptedBefore: expected an ISO time.*"now"/);
  await expect(muster.client.lanes.reportLost('nobody')).rejects.toThrow(/Service "nobody" not found/);
  for (const batch of [here!, there!]) await finish(batch);
  expect([...callsOf('here'), ...callsOf('there')]).toHaveLength(2);
});

// Last: it judges what the tests before it made.
test('each change of a status is one that the table of transitions permits', () =>
  expectLanesPermitted(muster.database.pool, ['pending -> unknown']));
