import { ackItems, readSegments, reopenItems } from '../../../postgres/fanouts/ack';
import { countAdded, countOpenItems, insertFanout, insertSegments } from '../../../postgres/fanouts/fanout';
import { Rows } from '../rows/rows';

/** A request about items of several segments is served as a whole or not at all. */

let rows: Rows;
beforeAll(async () => {
  rows = await Rows.open();
});
afterAll(() => rows.close());

const SETTINGS = { id: null, userKey: null, segmentSize: 4, recipientId: null, tenant: null };
const opened = async (items = 0): Promise<string> => {
  const id = (await insertFanout(rows.pool, SETTINGS))!;
  if (items > 0) await insertSegments(rows.pool, id, items, null);
  return id;
};
const bitsOf = async (id: string): Promise<string[]> =>
  (await readSegments(rows.pool, [id, id], [0, 1])).map(({ bits }) => bits.toString('hex'));

test.each([
  ['acked', ackItems, 2],
  ['opened again', reopenItems, 0],
])('with one bad request beside it nothing is %s', async (_, change, at) => {
  const id = await opened(7);
  expect(await ackItems(rows.pool, [{ fanout: id, segment: 0, indexes: [0, 1] }])).toMatchObject({ changed: 2 });
  const before = await bitsOf(id);
  const good = { fanout: id, segment: 0, indexes: [at] };
  for (const [bad, why] of [
    [{ fanout: id, segment: 9, indexes: [0] }, 'segment'],
    [{ fanout: id, segment: 1, indexes: [3] }, 'index'],
    [{ fanout: '0190f6a0-0000-4000-8000-000000000001', segment: 0, indexes: [0] }, 'fanout'],
  ] as const)
    expect(await change(rows.pool, [good, { ...bad, indexes: [...bad.indexes] }])).toMatchObject({
      bad: [{ at: 1, why }],
      changed: 0,
      completed: [],
    });
  expect(await bitsOf(id)).toEqual(before);
  expect(await change(rows.pool, [good])).toMatchObject({ bad: [], changed: 1 });
  expect(await bitsOf(id)).not.toEqual(before);
});

test('what is open is what was added, but for what was acked and not opened again', async () => {
  const id = await opened(7);
  await ackItems(rows.pool, [
    { fanout: id, segment: 0, indexes: [0, 3] },
    { fanout: id, segment: 1, indexes: [2] },
  ]);
  expect(await countOpenItems(rows.pool, id)).toBe(4);
  await reopenItems(rows.pool, [{ fanout: id, segment: 0, indexes: [2, 3] }]);
  expect(await countOpenItems(rows.pool, id)).toBe(5);
});

test('the items of some adds are counted by their keys, within the fan-out', async () => {
  const [id, other] = [await opened(), await opened()];
  for (const [key, items] of [
    ['a', 3],
    ['b', 20],
    ['c', 1],
    [null, 100],
  ] as const)
    await insertSegments(rows.pool, id, items, key);
  await insertSegments(rows.pool, other, 1_000, 'a');
  expect(await countAdded(rows.pool, id, ['a', 'c', 'not there'])).toBe(4);
  expect(await countAdded(rows.pool, id, ['b'])).toBe(20);
  expect(await countAdded(rows.pool, id, ['not there'])).toBe(0);
});
