import { GroupWriter } from '../../activities/sharing/groupWriter';
import { DatabaseError } from '../../postgres/errors';

/** What one write of many batches does to the others when it fails. */

const outage = Object.assign(new Error('cannot execute UPDATE in a read-only transaction'), { code: '25006' });

/** Writes batches 1 to 3 together; returns what came of each, and the groups that were tried. */
const write = async (fails: (ids: readonly number[]) => Error | null) => {
  const tried: number[][] = [];
  let open = (): void => undefined;
  const first = new Promise<void>((resolve) => (open = resolve));
  const writer = new GroupWriter<{ id: number }, string>(async (group) => {
    const ids = group.map(({ id }) => id);
    if (ids.includes(0))
      await first; // the others come together behind it
    else tried.push(ids);
    const failure = fails(ids);
    if (failure !== null) throw failure;
    return new Map(ids.map((id) => [id, `written ${id}`]));
  });
  const ahead = writer.write({ id: 0 });
  const others = Promise.allSettled([1, 2, 3].map((id) => writer.write({ id })));
  open();
  await ahead;
  const ended = await others;
  return { tried, ended: ended.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as Error).message)) };
};

test('an answer that cannot be written is not the fault of the others: each is written alone', async () => {
  const { tried, ended } = await write((ids) => (ids.includes(2) ? new Error('value too long') : null));
  expect(tried).toEqual([[1, 2, 3], [1], [2], [3]]);
  expect(ended).toEqual(['written 1', 'value too long', 'written 3']);
});

test('while Postgres takes no writes all of a group are told at once: one after another would take as long as each', async () => {
  const { tried, ended } = await write((ids) => (ids.includes(2) ? outage : null));
  expect(tried).toEqual([[1, 2, 3]]);
  expect(ended).toEqual([outage.message, outage.message, outage.message]);
});

test('a database that refuses for another reason is no outage', async () => {
  const refusal = new DatabaseError(Object.assign(new Error('no such function'), { code: '42883' }));
  const { tried } = await write((ids) => (ids.includes(2) ? refusal : null));
  expect(tried).toEqual([[1, 2, 3], [1], [2], [3]]);
});
