import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { eventually } from '../helpers/eventually';
import { expectWhole } from '../helpers/whole';
import type { Edit } from './downstream';
import { Downstream, items, okay } from './downstream';

/**
 * Handlers that name a service: single tasks in the order in which they were submitted, in batches
 * that are prefixes of their lane's queue.
 */

const downstream = new Downstream();
const slow = new Downstream();
let muster: TestMuster;
beforeAll(async () => {
  // Several targets feed one lane: everything before the slash is the service.
  const service = (target: string): string => target.split('/')[0]!;
  muster = await startMuster([
    downstream.handler({ service, limits: { maxItems: 5 }, linger: { lingerMs: 200 } }),
    slow.handler({ name: 'slow', service, limits: { maxItems: 5 }, linger: { lingerMs: 0 } }),
  ]);
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));
const of = (service: string, from = downstream) => from.seen.filter((call) => call.service.split('/')[0] === service);
const ids = (tasks: readonly { id: string }[]): string[] => tasks.map(({ id }) => id);

test('tasks go in the order in which they were submitted, full batches, the rest after the linger [C1]', async () => {
  const { client } = muster;
  const some = items('o-1/x', 12);
  await client.submit('edits', some);
  await client.waitFor(ids(some));
  expect(of('o-1').map((call) => call.ids)).toEqual([
    ids(some.slice(0, 5)),
    ids(some.slice(5, 10)),
    ids(some.slice(10)),
  ]);
});

test('order is never traded for fill: a task of another target closes the batch [C6]', async () => {
  const { client } = muster;
  const some = ['a', 'a', 'b', 'a', 'a', 'b', 'b'].flatMap((target) => items(`o-2/${target}`));
  await client.submit('edits', some);
  await client.waitFor(ids(some));
  expect(of('o-2').flatMap((call) => call.ids)).toEqual(ids(some));
  expect(of('o-2').map((call) => call.ids.length)).toEqual([2, 1, 2, 2]);
});

test('a batch given to the lane goes after the tasks that were submitted before it, and before those after', async () => {
  const { client } = muster;
  const before = items('o-3/x', 2);
  const given = items('o-3/x', 2);
  const after = items('o-3/x', 1);
  await client.submit('edits', before);
  await client.submitBatch('edits', 'o-3', given);
  await client.submit('edits', after);
  await client.waitFor(ids([...before, ...given, ...after]));
  expect(of('o-3').map((call) => call.ids)).toEqual([before, given, after].map(ids));
});

test('while a batch is on its way the next one fills', async () => {
  const { client } = muster;
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  slow.answer = async (batch) => {
    await gate;
    return okay(batch);
  };
  const [first, ...rest] = items('o-4/x', 5);
  await client.submit('slow', first!);
  await eventually(() => slow.seen.length === 1);
  for (const task of rest) await client.submit('slow', task);
  expect((await client.explain(rest[1]!.id)).text).toMatch(/queue of lane o-4.*1 task and 1 batch are ahead/);
  open();
  await client.waitFor(ids([first!, ...rest]));
  expect(slow.seen.map((call) => call.ids)).toEqual([[first!.id], ids(rest)]);
});

test('many submitters at once: every lane in the order of its commits', async () => {
  const { client, database } = muster;
  const all: { id: string; payload: Edit }[] = [];
  await Promise.all(
    Array.from({ length: 4 }, async (_, submitter) => {
      for (let i = 0; i < 10; i++) {
        const some = items(`o-5-${(submitter + i) % 3}/x`, 3);
        all.push(...some);
        await client.submit('edits', some);
      }
    }),
  );
  await client.waitFor(ids(all), { timeoutMs: 60_000 });
  for (const service of ['o-5-0', 'o-5-1', 'o-5-2']) {
    const { rows } = await database.pool.query<{ id: string }>(
      `select k.id from task k join target t on t.id = k.target_id where t.key = $1 order by k.seq`,
      [`${service}/x`],
    );
    expect(of(service).flatMap((call) => call.ids)).toEqual(rows.map(({ id }) => id));
  }
});

test('the same task again is the same task; priority and notBefore are refused', async () => {
  const { client } = muster;
  const [task] = items('o-6/x');
  expect(await client.submit('edits', task!)).toMatchObject({ accepted: 1, repeated: 0 });
  expect(await client.submit('edits', task!)).toMatchObject({ accepted: 0, repeated: 1 });
  await expect(client.submit('edits', { ...items('o-6/x')[0]!, priority: 1 })).rejects.toThrow(
    /priority: expected no priority in a lane/,
  );
  await expect(client.submit('edits', { ...items('o-6/x')[0]!, notBefore: Date.now() })).rejects.toThrow(/notBefore/);
});

test('a task that is in no batch yet can be cancelled; the others go on in order', async () => {
  const { client } = muster;
  await client.submit('edits', items('o-7/x'));
  await client.pauseLane('o-7');
  const some = items('o-7/x', 3);
  await client.submit('edits', some);
  expect(await client.cancel(some[1]!.id)).toMatchObject({ cancelled: [some[1]!.id] });
  await client.resumeLane('o-7');
  await client.waitFor(ids(some));
  expect(of('o-7').flatMap((call) => call.ids)).not.toContain(some[1]!.id);
});

test('in the caller own transaction, and nobody rings: the sweeper finds it [C10 G14]', async () => {
  const { client, database } = muster;
  const tx = await database.pool.connect();
  await tx.query('begin');
  const some = items('o-8/x', 2);
  await client.submit('edits', some, { tx });
  const given = items('o-9/x');
  await client.submitBatch('edits', 'o-9', given, { tx });
  await tx.query('commit');
  tx.release();
  await client.waitFor(ids([...some, ...given]), { timeoutMs: 60_000 });
});
