import type { Client, TaskInput } from '../../../client';
import { Retention } from '../../../postgres/sweeper/retention';
import type { Shop } from '../shop';
import { broken, clientOf, cut, itemHandler, items, openShop } from '../shop';

/** Tags and metadata: stored by every way in, shown, refused, and deleted with their task. */

let shop: Shop;
let client: Client;
beforeEach(async () => {
  shop = await openShop({ retentionMs: 3_600_000 });
  const letters = itemHandler({ name: 'letters', service: (to) => to });
  client = clientOf(shop, 'labels', letters);
});
afterEach(async () => {
  const found = await broken(shop.client);
  await client.close();
  await shop.stop();
  expect(found).toEqual({});
});

const labelled = (id: string, more: object = {}): TaskInput => ({
  id,
  payload: { to: 'se', note: id },
  tags: ['red', `of ${id}`],
  metadata: { order: id, 'a "name"': 'Ünïcode\n' },
  ...more,
});
const shown = (id: string): object => ({
  id,
  tags: ['red', `of ${id}`],
  metadata: { order: id, 'a "name"': 'Ünïcode\n' },
});
const rowsOf = async (table: 'task_label' | 'task_tag'): Promise<number> =>
  (await shop.pool.query(`select from ${table}`)).rowCount!;

test('they are stored by every way in, and shown', async () => {
  await client.submit('items', [labelled('few'), { id: 'plain', payload: { to: 'se' } }]);
  const many = Array.from({ length: 60 }, (_, i) => labelled(`many-${i}`));
  await client.submit('items', many); // by COPY
  await client.submit('items', [labelled('held', { dependsOn: ['few'] }), labelled('beside')]);
  const tx = await shop.pool.connect();
  await tx.query('begin');
  await client.submit('items', [labelled('theirs')], { tx });
  await tx.query('commit');
  tx.release();
  await client.submit('letters', [labelled('in-lane')]);
  await client.batches.submit('letters', 'se', [labelled('in-batch')]);
  const ids = ['few', 'many-0', 'many-59', 'held', 'beside', 'theirs', 'in-lane', 'in-batch'];
  const found = await client.tasks.lookUp([...ids, 'plain']);
  expect(found.slice(0, -1)).toEqual(ids.map((id) => expect.objectContaining(shown(id)) as unknown));
  expect(found.at(-1)).not.toHaveProperty('tags');
  expect(found.at(-1)).not.toHaveProperty('metadata');
  expect(await rowsOf('task_label')).toBe(60 + 6);
  expect(await rowsOf('task_tag')).toBe(2 * (60 + 6));
});

test('a repeat changes neither; a tag that is given twice is one, and none are none', async () => {
  await client.submit('items', labelled('a', { tags: ['x', 'y', 'x'] }));
  await client.submit('items', [labelled('b', { tags: [], metadata: {} }), labelled('c', { tags: undefined })]);
  expect(await client.submit('items', labelled('a', { tags: ['z'] }))).toMatchObject({ repeated: 1 });
  expect(await client.getTask('a')).toMatchObject({ tags: ['x', 'y'] });
  expect(await client.getTask('b')).not.toHaveProperty('tags');
  expect(await client.getTask('c')).toMatchObject({ metadata: { order: 'c' } });
  expect(await client.getTask('c')).not.toHaveProperty('tags');
  expect([await rowsOf('task_label'), await rowsOf('task_tag')]).toEqual([2, 2]);
});

test('they are deleted with their task, one that ended alone or with its batch; those of others stay', async () => {
  await client.submit('items', [labelled('sent'), labelled('cancelled'), labelled('young'), labelled('waits')]);
  await cut(shop.pool, ['sent'], { state: 4, finishedAgoMs: 2 * 3_600_000 });
  await cut(shop.pool, ['young'], { state: 4 });
  await client.cancel('cancelled');
  await shop.pool.query(`update outcome set at = clock() - interval '2 hours'`);
  expect(await new Retention().deleteExpired(shop.pool, 1_000)).toBe(2);
  expect([await rowsOf('task_label'), await rowsOf('task_tag')]).toEqual([2, 4]);
  expect((await client.tasks.list('items', { tag: 'red' })).tasks.map(({ id }) => id)).toEqual(['waits', 'young']);
});

const TAG = '1-100 bytes of well-formed text without NUL';
const REFUSED: readonly [given: object, field: string, code: string, message: string][] = [
  [{ tags: 'red' }, 'tags', 'INVALID_TAG', 'expected an array of at most 10 texts, got "red"'],
  [{ tags: Array(11).fill('t') }, 'tags', 'INVALID_TAG', 'expected an array of at most 10 texts, got 11'],
  [{ tags: ['ok', ''] }, 'tags.1', 'INVALID_TAG', `expected ${TAG}, got ""`],
  [{ tags: [7] }, 'tags.0', 'INVALID_TAG', `expected ${TAG}, got 7`],
  [{ tags: ['ü'.repeat(51)] }, 'tags.0', 'INVALID_TAG', `expected ${TAG}, got "üüü`],
  [{ tags: ['a\0b'] }, 'tags.0', 'INVALID_TAG', `expected ${TAG}, got "a\\u0000b"`],
  [{ tags: ['\ud800'] }, 'tags.0', 'INVALID_TAG', `expected ${TAG}`],
  [{ metadata: ['x'] }, 'metadata', 'INVALID_METADATA', "expected an object of texts, got [ 'x' ]"],
  [{ metadata: { n: 7 } }, 'metadata.n', 'INVALID_METADATA', 'expected text, got 7'],
  [
    { metadata: { n: 'a\0' } },
    'metadata.n',
    'INVALID_METADATA',
    'expected well-formed text without NUL, got "a\\u0000"',
  ],
  [
    { metadata: { n: 'x'.repeat(4_089) } },
    'metadata',
    'INVALID_METADATA',
    'expected at most 4096 bytes of JSON, got 4097',
  ],
  [{ metadata: { $codec: 'x' } }, 'metadata', 'INVALID_METADATA', 'expected no "$codec" as the first field'],
];
/** In one test, since each opens a store. */
test('what is no tag and no metadata is refused with what was expected', async () => {
  for (const [given, field, code, message] of REFUSED)
    await expect(client.submit('items', { ...items('se', 'x')[0]!, ...given } as TaskInput)).rejects.toMatchObject({
      problems: [{ field, code, message: expect.stringContaining(message) as unknown }],
    });
  expect(await client.getTask('x')).toBeNull();
});

test('the largest are accepted', async () => {
  const tags = Array.from({ length: 10 }, (_, i) => `${i}${'ü'.repeat(49)}x`);
  const metadata = { n: 'x'.repeat(4_088) };
  await client.submit('items', labelled('a', { tags, metadata }));
  expect(await client.getTask('a')).toMatchObject({ tags, metadata });
});
