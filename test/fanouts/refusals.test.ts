import { ackItems } from '../../postgres/fanouts/ack';
import { itemIdOf } from '../../workflows/planning/fanouts/itemId';
import { eventually } from '../helpers/eventually';
import { expectWhole } from '../helpers/whole';
import type { FanoutShop } from './shop';
import { openFanoutShop } from './shop';

/**
 * Invalid ids are errors that name them, and nothing of the call is applied.
 */

const NOBODY = '0190f6a0-0000-4000-8000-000000000001';
let shop: FanoutShop;
beforeAll(async () => {
  shop = await openFanoutShop();
});
afterAll(() => shop.stop());
afterEach(() => expectWhole(shop.client));

const filled = async (items: number, options = {}): Promise<{ id: string; ids: string[] }> => {
  const { id } = await shop.client.openFanout(options);
  return { id, ids: [...(await shop.client.addItems(id, items))] };
};

test('an ack with one bad id changes nothing, and names each bad one with its reason [D7 D8]', async () => {
  const { id, ids } = await filled(10);
  const large = await filled(3_000, { segmentSize: 8_000 });
  const cases: [string, string, RegExp][] = [
    ['nonsense', 'MALFORMED_ID', /expected fanoutId:segment:index/],
    [`${id}:0:007`, 'MALFORMED_ID', /expected fanoutId:segment:index/],
    [itemIdOf(NOBODY, 0, 0), 'UNKNOWN_FANOUT', new RegExp(`fan-out ${NOBODY} not found`)],
    [itemIdOf(id, 1, 0), 'UNKNOWN_SEGMENT', /has no segment 1/],
    [itemIdOf(id, 0, 10), 'INDEX_PAST_END', /segment 0 has 10 items, 0 to 9/],
    // A segment number that another fan-out has: numbers are each fan-out's own.
    [itemIdOf(large.id, 1, 3), 'UNKNOWN_SEGMENT', /has no segment 1/],
    [itemIdOf(large.id, 0, 7_999), 'INDEX_PAST_END', /segment 0 has 3000 items/],
  ];
  for (const [bad, code, message] of cases) {
    const refused = shop.client.ackItems([...ids, bad, large.ids[5]!]);
    await expect(refused).rejects.toMatchObject({
      code: 'INVALID_ITEM',
      problems: [{ id: bad, code, message: expect.stringMatching(message) }],
      applied: 0,
    });
    await expect(shop.client.reopenItems([ids[0]!, bad])).rejects.toMatchObject({ problems: [{ id: bad, code }] });
  }
  expect(await shop.client.readItems([...ids, large.ids[5]!])).toEqual(Array.from({ length: 11 }, () => false));
  await expect(shop.client.readItems([ids[0]!, `${id}:0:10`])).rejects.toMatchObject({
    problems: [{ code: 'INDEX_PAST_END' }],
  });
});

test('a reopen that waited for the ack which completes its fan-out is refused: a completion stands', async () => {
  const { id, ids } = await filled(2);
  await shop.client.sealFanout(id);
  await shop.client.ackItems(ids[0]!);
  const acking = await shop.pool.connect();
  await acking.query('begin');
  const last = await ackItems(acking, [{ fanout: id, segment: 0, indexes: [1] }]);
  expect(last).toMatchObject({ changed: 1, completed: [{ id }] });
  const reopened = shop.client.reopenItems(ids[0]!).catch((error: unknown) => error);
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  await eventually(async () => (await shop.pool.query(waiting)).rowCount === 1);
  await acking.query('commit');
  acking.release();
  expect(await reopened).toMatchObject({ problems: [{ id: ids[0], code: 'FANOUT_COMPLETE' }], applied: 0 });
  expect(await shop.client.readItems(ids)).toEqual([true, true]);
  expect(await shop.client.getFanout(id)).toMatchObject({ state: 'complete', open: 0 });
});

test('of a call in portions, those before the bad one stand, and the error says how many [D10]', async () => {
  const { id, ids } = await filled(10);
  const refused = shop.client.ackItems([...ids, `${id}:7:0`], { idsPerCall: 4 });
  await expect(refused).rejects.toMatchObject({ applied: 8, problems: [{ code: 'UNKNOWN_SEGMENT' }] });
});

test('verbs on a fan-out that is not there are NOT_FOUND [D1]', async () => {
  await expect(shop.client.sealFanout(NOBODY)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(shop.client.addItems(NOBODY, 1)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(shop.client.waitForFanout(NOBODY)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await shop.client.getFanout(NOBODY)).toBeNull();
});

test.each([
  ['no items', () => shop.client.addItems(NOBODY, 0), 'items: expected a whole number from 1 to'],
  ['half an item', () => shop.client.addItems(NOBODY, 1.5), 'items: expected a whole number'],
  ['too many items', () => shop.client.addItems(NOBODY, 1e11), 'items: expected a whole number'],
  ['too many a call', () => shop.client.addItems(NOBODY, 1, { itemsPerCall: 1_000_001 }), 'itemsPerCall: expected'],
  ['a long key', () => shop.client.addItems(NOBODY, 1, { key: 'x'.repeat(201) }), 'key: expected 1-200 bytes'],
  [
    'a segment of none',
    () => shop.client.openFanout({ segmentSize: 0 }),
    'segmentSize: expected a whole number from 1 to 8000, got 0',
  ],
  [
    'a segment too large',
    () => shop.client.openFanout({ segmentSize: 8_001 }),
    'segmentSize: expected a whole number from 1 to 8000, got 8001',
  ],
  ['an empty user key', () => shop.client.openFanout({ userKey: '' }), 'userKey: expected'],
  ['a long user key', () => shop.client.openFanout({ userKey: 'x'.repeat(1_025) }), 'userKey: expected 1-1024 bytes'],
  ['half a surrogate', () => shop.client.openFanout({ userKey: '\ud800' }), 'userKey: expected'],
  [
    'an id that is no UUID',
    () => shop.client.openFanout({ id: 'mine' }),
    'fanout: expected the id of a fan-out, a UUID',
  ],
  [
    'nobody to tell',
    () => shop.client.openFanout({ notify: { to: 'me' } as never }),
    'notify: expected {url: "https://..."} or {workflowId}',
  ],
  ['ids that are none', () => shop.client.ackItems(7 as never), 'ids: expected an item id or several'],
  ['a number among ids', () => shop.client.ackItems([7] as never), 'item "7": expected fanoutId:segment:index'],
  ['too many ids a call', () => shop.client.ackItems('x', { idsPerCall: 10_001 }), 'idsPerCall: expected'],
  ['an interval below 0', () => shop.client.reapFanouts({ openIdleMs: -1 }), 'openIdleMs: expected'],
] as [string, () => Promise<unknown>, string][])('bad input: %s', async (_, call, message) => {
  await expect(call()).rejects.toThrow(message);
});

test('an open with an id of its own may be repeated; with other options it is refused', async () => {
  const id = '7d2f1a10-1111-4222-8333-444455556666';
  const first = await shop.client.openFanout({ id, userKey: 'a' });
  expect(await shop.client.openFanout({ id, userKey: 'a' })).toEqual(first);
  await expect(shop.client.openFanout({ id, userKey: 'b' })).rejects.toThrow(
    /id: expected an id that was not opened before with other options.*userKey "a"/,
  );
  await expect(shop.client.openFanout({ id, userKey: 'a', notify: { workflowId: 'w' } })).rejects.toThrow(/no notify/);
  const other = '7d2f1a10-1111-4222-8333-444455556667';
  await shop.client.openFanout({ id: other, notify: { url: 'https://one.example/secret' } });
  await expect(shop.client.openFanout({ id: other, notify: { workflowId: 'w' } })).rejects.toThrow(
    /notify to https:\/\/one\.example\.$/,
  );
});

test('an open with the id of a fan-out that is being deleted is refused, and registers no receiver', async () => {
  const { id } = await shop.client.openFanout();
  await shop.client.reapFanouts({ openIdleMs: 0, keepEndedMs: 0 });
  // As between two rounds of the sweeper: its rows are gone one by one.
  await shop.pool.query({
    text: `insert into fanout (public_id, segment_size, opened_at, active_at, expired_at, state)
      values ($1, 512, clock(), clock(), clock(), 4)`,
    values: [id],
  });
  const url = 'https://deleted.example/';
  await expect(shop.client.openFanout({ id, notify: { url } })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const told = await shop.pool.query({ text: `select from recipient where address->>'url' = $1`, values: [url] });
  expect(told.rowCount).toBe(0);
  await expect(shop.client.addItems(id, 1)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await shop.pool.query({ text: 'delete from fanout where public_id = $1', values: [id] });
});

test('an add with a key may be repeated, also side by side and after the seal; other numbers are refused', async () => {
  const { id } = await shop.client.openFanout({ segmentSize: 7 });
  const options = { key: 'part 1', itemsPerCall: 50 };
  const side = await Promise.all([1, 2, 3].map(() => shop.client.addItems(id, 120, options)));
  const first = [...side[0]!];
  for (const added of side) expect([...added]).toEqual(first);
  expect(new Set(first).size).toBe(120);
  await shop.client.addItems(id, 5);
  await shop.client.sealFanout(id);
  expect([...(await shop.client.addItems(id, 120, options))]).toEqual(first);
  await expect(shop.client.addItems(id, 30, options)).rejects.toThrow(
    'items: expected 49, as in the first add with this key, got 30',
  );
  expect((await shop.client.getFanout(id))!.items).toBe(125);
});
