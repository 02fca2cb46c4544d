import { RejectedError } from '../../handlers';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { eventually } from '../helpers/eventually';
import { expectLanesPermitted, recordLaneMoves } from '../helpers/transitions/recordedLanes';
import { expectWhole } from '../helpers/whole';
import { reachesStatus } from '../helpers/reachesStatus';
import { Downstream, items, okay } from './downstream';

/** What an operator sees of lanes and does about them. */

const downstream = new Downstream();
let muster: TestMuster;
beforeAll(async () => {
  downstream.answer = (batch, _, times) => {
    if (batch.tasks[0]!.payload.price === -1) throw new RejectedError('no');
    if (batch.tasks[0]!.payload.price === -2 && times === 0) throw new Error('connection reset');
    return okay(batch);
  };
  muster = await startMuster([downstream.handler({ lane: { onInvalid: 'halt' }, idempotency: 'none' })]);
  await recordLaneMoves(muster.database.pool);
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));
const submit = async (service: string, price?: number) =>
  (await muster.client.submitBatch('edits', service, items(service, 1, price === undefined ? {} : { price }))).batch;
const stateOf = async (service: string) => (await muster.client.lane(service)).state;

test('a paused lane sends nothing, others do; resumed, it goes on; explain says so [C12]', async () => {
  const { client } = muster;
  await reachesStatus(muster.client, await submit('p-1'), 'committed');
  await client.pauseLane('p-1', 'stock-taking');
  const held = items('p-1');
  const { batch } = await client.submitBatch('edits', 'p-1', held);
  await reachesStatus(muster.client, await submit('p-2'), 'committed');
  expect(await client.lane('p-1')).toMatchObject({ state: 'paused', reason: 'stock-taking', depth: 1 });
  expect((await client.explain(held[0]!.id)).text).toMatch(/first in lane p-1.*paused.*stock-taking/);
  await client.resumeLane('p-1');
  await reachesStatus(muster.client, batch, 'committed');
  expect(await stateOf('p-1')).toBe('empty');
});

test('everything paused: nothing is granted; resumed, all goes on', async () => {
  const { client } = muster;
  await client.pauseQueuer('the ledger moves');
  const batches = [await submit('all-1'), await submit('all-2')];
  expect(await client.queuer()).toMatchObject([{ paused: true, reason: 'the ledger moves', ready: 2 }]);
  expect((await client.batchStatus(batches[0]!))!.explanation).toMatch(/queuer is paused/);
  await client.resumeQueuer();
  for (const batch of batches) await reachesStatus(muster.client, batch, 'committed');
});

test('a halted lane goes on when its batch is skipped [C19]', async () => {
  const { client } = muster;
  const bad = await submit('skip-1', -1);
  const next = await submit('skip-1');
  await reachesStatus(muster.client, bad, 'invalid');
  expect(await client.lane('skip-1')).toMatchObject({ state: 'halted', haltedBy: bad, reason: 'invalid: no' });
  const other = { code: 'OTHER_BATCH_HALTS', batch: next, haltedBy: bad };
  await expect(client.skipHead('skip-1', { batch: next })).rejects.toMatchObject(other);
  for (const fix of [{ as: 'again' }, { items: items('skip-1') }] as const)
    await expect(client.fixHead('skip-1', { ...fix, batch: next })).rejects.toMatchObject(other);
  expect(await client.lane('skip-1')).toMatchObject({ state: 'halted', haltedBy: bad });
  await expect(client.skipHead('skip-1', { batch: 0 })).rejects.toThrow(/batch: expected a whole number from 1/);
  expect(await client.skipHead('skip-1', { batch: bad })).toEqual({ batch: bad });
  await reachesStatus(muster.client, next, 'committed');
  await expect(client.skipHead('skip-1')).rejects.toThrow(/expected a halted lane/);
});

test('or when other items stand in its place, before what waits [C19]', async () => {
  const { client } = muster;
  const bad = await submit('fix-1', -1);
  const next = await submit('fix-1');
  await reachesStatus(muster.client, bad, 'invalid');
  const { batch } = await client.fixHead('fix-1', { items: items('fix-1', 1, { price: 3 }), batch: bad });
  await reachesStatus(muster.client, next, 'committed');
  expect(downstream.seen.filter(({ service }) => service === 'fix-1').map((call) => call.batch)).toEqual([
    bad,
    batch,
    next,
  ]);
});

test.each([
  ['applied', 1],
  ['again', 2],
] as const)('a batch of unknown outcome is decided by hand: %s [C28]', async (as, calls) => {
  const { client } = muster;
  const service = `unknown-${as}`;
  const some = items(service, 1, { price: -2 });
  const { batch } = await client.submitBatch('edits', service, some);
  const next = await submit(service);
  await reachesStatus(muster.client, batch, 'parked');
  await expect(client.resolve({ batch }, { as: 'created' })).rejects.toThrow(new RegExp(`lane fix ${service}`));
  await client.fixHead(service, { as, batch });
  await reachesStatus(muster.client, next, 'committed');
  expect(downstream.seen.filter((call) => call.batch === batch)).toHaveLength(calls);
  expect(await client.getTask(some[0]!.id)).toMatchObject({ state: 'succeeded' });
});

test('an unknown one that is skipped counts as not applied: what depends on it fails unsent', async () => {
  const { client } = muster;
  const unknown = await submit('skip-2', -2);
  await reachesStatus(muster.client, unknown, 'parked');
  const { batch } = await client.submitBatch('edits', 'skip-3', items('skip-3'), { dependsOn: [unknown] });
  await client.skipHead('skip-2');
  await reachesStatus(muster.client, batch, 'failed-dependency');
  expect(await stateOf('skip-3')).toBe('halted');
});

test('lanes: a page by service, with depth, state and share [C12]', async () => {
  const { client } = muster;
  const page = await client.lanes({ limit: 2 });
  const rest = await client.lanes({ after: page[1]!.service });
  expect([...page, ...rest].map(({ service }) => service)).toEqual(
    [...page, ...rest].map(({ service }) => service).sort(),
  );
  const sum = [...page, ...rest].reduce((all, { share }) => all + share, 0);
  expect(sum).toBeCloseTo(1, 6);
});

test.each([
  ['pause of an unknown service', () => muster.client.pauseLane('nobody'), /Service "nobody" not found/],
  ['skip of an unknown service', () => muster.client.skipHead('nobody'), /Service "nobody" not found/],
  ['weight 0', () => muster.client.setLaneWeight('p-1', 0), /weight: expected a whole number from 1 to 10000, got 0/],
  ['too large a weight', () => muster.client.setLaneWeight('p-1', 10_001), /weight.*from 1 to 10000, got 10001/],
  ['a weight that is no whole number', () => muster.client.setLaneWeight('p-1', 1.5), /weight.*got 1.5/],
  ['a negative weight', () => muster.client.setLaneWeight('p-1', -1), /weight.*got -1/],
  ['no slots', () => muster.client.setQueuer({ slots: 0 }), /slots: expected a whole number from 1 to 1000, got 0/],
  ['an unknown strategy', () => muster.client.setQueuer({ strategy: 'fastest' as never }), /strategy: expected one of/],
  ['a fix of what is not halted', () => muster.client.fixHead('p-1', { as: 'again' }), /expected a halted lane/],
])('refused: %s', async (_, work, message) => {
  await expect(work()).rejects.toThrow(message);
});

test('a paused handler sends nothing of its lanes; resumed, they go on at once [H4]', async () => {
  const { client } = muster;
  await reachesStatus(muster.client, await submit('h-1'), 'committed');
  await client.pause('edits');
  const batch = await submit('h-1');
  await eventually(async () => (await client.queuer())[0]!.state === 'waiting');
  expect((await client.batchStatus(batch))!.status).toBe('unsubmitted');
  const resumedAt = performance.now();
  await client.resume('edits');
  await reachesStatus(muster.client, batch, 'committed');
  expect(performance.now() - resumedAt).toBeLessThan(10_000);
});

// Last: it judges what the tests before it made.
test('each change of a status is one that the table of transitions permits', () =>
  expectLanesPermitted(muster.database.pool, ['parked -> skipped']));
