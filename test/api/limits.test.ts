import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { plainProblems } from '../../workers/api/bodies/plain';
import { Room } from '../../workers/api/bodies/room';
import { mayTake } from '../../workers/api/limits';
import { apiSettings } from '../../workers/api/settings';
import { fileSchema, problemsOf } from '../../workers/config/settingsSchema';

/** What bounds callers and the memory of bodies, without a server. */

test('lists that are too long and elements of another type are found wherever they stand, up to a number', () => {
  const schema = z.object({
    ids: z.array(z.string()).min(1).max(3).optional(),
    rows: z.array(z.array(z.string()).max(2)).max(1_000).optional(),
    end: z.union([z.object({ all: z.boolean() }), z.object({ some: z.array(z.unknown()).max(2) })]).optional(),
    names: z.record(z.string(), z.string()).optional(),
  });
  const found = (value: unknown) =>
    plainProblems(schema, value, 5).map(({ path, isTooLong }) => [path.join('.'), isTooLong]);
  expect(found({ ids: ['a'], rows: [['b']], end: { some: [1] }, names: { a: 'b' } })).toEqual([]);
  expect(found({ ids: ['a', 'b', 'c', 'd'] })).toEqual([['ids', true]]);
  expect(found({ ids: ['a', 1] })).toEqual([['ids.1', false]]);
  expect(found({ rows: [['a'], ['b', 'c', 'd']] })).toEqual([['rows.1', true]]);
  expect(found({ rows: Array.from({ length: 1_000 }, () => [1]) })).toHaveLength(5);
  expect(found({ end: { some: [1, 2, 3] } })).toEqual([['end.some', true]]);
  expect(found({ names: Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [n, ''])) })).toEqual([
    ['names', true],
  ]);
  expect(found([])).toEqual([['', false]]);
});

/** A room for ten, and who has entered it. */
const openRoom = () => {
  const room = new Room(10, 'tests');
  const entered: string[] = [];
  const enter = async (name: string, size: number, caller = 1) => {
    const leave = await room.enter(size, caller);
    entered.push(name);
    return leave;
  };
  return { enter, entered };
};

test('what does not fit waits until there is room; of one caller, what is small goes first', async () => {
  const { enter, entered } = openRoom();
  const first = await enter('first', 6);
  const large = enter('larger than the room', 99);
  const small = await enter('small', 4);
  expect(entered).toEqual(['first', 'small']);
  first();
  small();
  const leave = await large;
  expect(entered).toEqual(['first', 'small', 'larger than the room']);
  const last = enter('last', 1);
  leave();
  (await last)();
  expect(entered).toHaveLength(4);
});

test('who would have the least of the room gets the next place in it, however many others wait', async () => {
  const { enter, entered } = openRoom();
  const first = await enter('first', 6, 1);
  const all = enter('all', 10, 2);
  const more = await enter('more', 3, 1); // it would have 9, and the one before 10
  const small = enter('small', 2, 3);
  const fits = enter('fits', 1, 1); // but would have more than the one before
  await nextTurn();
  expect(entered).toEqual(['first', 'more']);
  first();
  (await small)();
  (await fits)();
  expect(entered).toEqual(['first', 'more', 'small', 'fits']);
  more();
  (await all)();
});

test('who has the least is asked anew for each place, also where much becomes free at once', async () => {
  const { enter, entered } = openRoom();
  const first = await enter('first', 10, 1);
  const others = [...Array.from({ length: 5 }, () => enter('many', 2, 2)), enter('one', 3, 3)];
  await nextTurn();
  first();
  await nextTurn();
  expect(entered).toEqual(['first', 'many', 'one', 'many', 'many']);
  await Promise.all(others.map(async (left) => (await left)()));
});

test('a caller has no more than its part of a room, but for one thing alone; others go before what waits', async () => {
  const room = new Room(10, 'tests', () => 6);
  const entered: number[] = [];
  const enter = (size: number, caller: number) =>
    room.enter(size, caller).then((leave) => {
      entered.push(size);
      return leave;
    });
  const first = await enter(5, 1);
  const more = enter(2, 1);
  const other = await enter(4, 2);
  await nextTurn();
  expect(entered).toEqual([5, 4]);
  other();
  await nextTurn();
  expect(entered).toEqual([5, 4]);
  first();
  (await more)();
  (await enter(8, 1))(); // alone
  expect(entered).toEqual([5, 4, 2, 8]);
});

test.each<[string, number, { own: number; taken: number; most: number; all: number }, boolean]>([
  ['alone, all of its part at once', 4, { own: 0, taken: 0, most: 4, all: 8 }, true],
  ['alone, more than its part', 5, { own: 0, taken: 0, most: 4, all: 8 }, false],
  ['alone, the last of its part', 1, { own: 3, taken: 3, most: 4, all: 8 }, true],
  ['alone, one more', 1, { own: 4, taken: 4, most: 4, all: 8 }, false],
  ['one that has all of its part, nothing', 0, { own: 4, taken: 4, most: 4, all: 8 }, true],
  ['beside one that has its part, half of what is left', 2, { own: 0, taken: 4, most: 4, all: 8 }, true],
  ['beside one that has its part, all of what is left', 4, { own: 0, taken: 4, most: 4, all: 8 }, true],
  ['beside many, as much as it leaves to the next caller', 2, { own: 0, taken: 6, most: 4, all: 8 }, true],
  ['beside many, more than it leaves to the next caller', 3, { own: 0, taken: 6, most: 4, all: 8 }, false],
  ['where all is taken, something', 1, { own: 0, taken: 8, most: 4, all: 8 }, false],
  ['where one may have all, the last of it', 1, { own: 7, taken: 7, most: 8, all: 8 }, true],
  ['where one may have all, one more', 1, { own: 8, taken: 8, most: 8, all: 8 }, false],
])('of what callers share, may a caller take %s: %i more of %j: %s', (_what, amount, of, expected) => {
  expect(mayTake(amount, of)).toBe(expected);
});

test('the API is open where a setting says so; limits that are left out follow from others', () => {
  const file = { open: true, maxRequests: 11, maxWaiting: 4_000, perCaller: { maxWaiting: 7, refusedShare: 0.5 } };
  const schema = fileSchema({ json: true, env: {}, folder: '/' });
  expect(problemsOf(schema, { api: file })).toEqual([]);
  expect(apiSettings(() => undefined, file)).toMatchObject({
    open: true,
    limits: {
      maxBodyBytes: 4_194_304,
      maxRequests: 11,
      maxWaiting: 4_000,
      maxConnections: 8_022,
      perCaller: { maxRequests: 6, maxWaiting: 7, refusedShare: 0.5 },
    },
  });
  const given = (text: string) => (flag: string) => (flag === 'apiOpen' ? text : undefined);
  expect(apiSettings(given('false'), file).open).toBe(false);
  expect(apiSettings(given('true')).open).toBe(true);
  expect(apiSettings(() => undefined).open).toBe(false);
  expect(problemsOf(schema, { api: { open: 'yes', perCaller: { maxRequests: 0, maxPages: 1 } } })).toEqual([
    { path: 'api.open', message: 'expected true or false, got "yes"' },
    expect.objectContaining({ path: 'api.perCaller.maxRequests' }),
    expect.objectContaining({ path: 'api.perCaller.maxPages' }),
  ]);
});
