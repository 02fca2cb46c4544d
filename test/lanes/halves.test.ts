import { RejectedError } from '../../handlers';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { eventually } from '../helpers/eventually';
import { expectLanesPermitted, recordLaneMoves } from '../helpers/transitions/recordedLanes';
import { expectWhole } from '../helpers/whole';
import { Downstream, items, okay } from './downstream';

/**
 * H4 in lanes: refused batches are halved in order; where it is no poison task, the handler is
 * paused and nothing has failed.
 */

const downstream = new Downstream();
const halting = new Downstream();
/** Ids that are refused, alone or with others. */
const refused = new Set<string>();
let muster: TestMuster;
beforeAll(async () => {
  downstream.answer = halting.answer = (batch) => {
    if (batch.tasks.some(({ id }) => refused.has(id))) throw new RejectedError('unknown column');
    return okay(batch);
  };
  muster = await startMuster([downstream.handler(), halting.handler({ name: 'halting', lane: { onInvalid: 'halt' } })]);
  await recordLaneMoves(muster.database.pool);
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));
const ids = (tasks: readonly { id: string }[]): string[] => tasks.map(({ id }) => id);
const statesOf = async (tasks: readonly { id: string }[]): Promise<string[]> =>
  (await muster.client.getTasks(ids(tasks))).map((task) => task.state);
const sent = (service: string, from = downstream) =>
  from.seen.filter((call) => call.service === service).map((call) => call.ids);
const pauseReason = async (): Promise<string | null> =>
  (await muster.client.status('edits'))[0]!.paused?.reason ?? null;

test.each([2, 8, 5])(
  'all of %i refused: after the first two alone the handler is paused; nothing has failed, nothing was applied',
  async (n) => {
    const { client } = muster;
    const some = items(`systematic-${n}`, n);
    const service = `systematic-${n}`;
    ids(some).forEach((id) => refused.add(id));
    await client.submitBatch('edits', service, some);
    const [next] = items(service);
    await client.submitBatch('edits', service, [next!]);
    await eventually(pauseReason);
    expect(await pauseReason()).toMatch(/both halves of the first split were refused: unknown column/);
    expect(sent(service).slice(-2)).toEqual([[some[0]!.id], [some[1]!.id]]);
    expect(sent(service).flat()).not.toContain(next!.id);
    await eventually(async () => (await statesOf(some)).every((state) => state === 'batched'));
    // Mended: everything is applied, in order.
    refused.clear();
    const before = downstream.seen.length;
    await client.resume('edits');
    await client.waitFor([...ids(some), next!.id]);
    expect(downstream.seen.slice(before).flatMap((call) => call.ids)).toEqual([...ids(some), next!.id]);
    expect(await statesOf(some)).toEqual(some.map(() => 'succeeded'));
  },
);

test('the first one poisoned: it fails, the others are applied in order; nobody pauses anything', async () => {
  const { client } = muster;
  const some = items('first', 4);
  refused.add(some[0]!.id);
  await client.submitBatch('edits', 'first', some);
  await client.waitFor(ids(some));
  expect(await statesOf(some)).toEqual(['failed', 'succeeded', 'succeeded', 'succeeded']);
  expect(sent('first')).toEqual([ids(some), ids(some.slice(0, 2)), [some[0]!.id], [some[1]!.id], ids(some.slice(2))]);
  expect(await client.getTask(some[0]!.id)).toMatchObject({ error: 'unknown column' });
  expect(await pauseReason()).toBeNull();
});

test('two in a row, but not the first two: poison tasks, found one by one', async () => {
  const { client } = muster;
  const some = items('middle', 4);
  for (const task of some.slice(2)) refused.add(task.id);
  await client.submitBatch('edits', 'middle', some);
  await client.waitFor(ids(some));
  expect(await statesOf(some)).toEqual(['succeeded', 'succeeded', 'failed', 'failed']);
  expect(await pauseReason()).toBeNull();
});

test('in a lane that halts on an invalid batch the halt comes first: the second is not asked', async () => {
  const { client } = muster;
  const some = items('halts', 2);
  ids(some).forEach((id) => refused.add(id));
  await client.submitBatch('halting', 'halts', some);
  await eventually(async () => (await client.lane('halts')).state === 'halted');
  expect(sent('halts', halting)).toEqual([ids(some), [some[0]!.id]]);
  expect(await statesOf(some)).toEqual(['failed', 'batched']);
});

// Last: it judges what the tests before it made.
test('each change of a status is one that the table of transitions permits', () =>
  expectLanesPermitted(muster.database.pool, ['submitted -> refused', 'refused -> invalid']));
