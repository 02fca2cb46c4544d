import { InvalidTaskError } from '../../../client';
import { readBacklog } from '../../../postgres/api/tenant';
import { TAG_BYTES_MAX, TAGS_MAX, TASK_METADATA_BYTES_MAX } from '../../../workflows/planning/tags';
import { expectWhole } from '../../helpers/whole';
import type { SqlShop } from './shop';
import { openSqlShop, refusal } from './shop';

/** Tags, metadata and expiry of a task that is submitted by SQL: as the client has them. */

let shop: SqlShop;
beforeAll(async () => {
  shop = await openSqlShop();
});
afterAll(() => shop.stop());

interface Extras {
  tags?: unknown;
  metadata?: unknown;
  expiresAt?: string;
}
const payload = { customer: 'ada', total: 1 };
const bySql = (id: string, { tags = null, metadata = null, expiresAt }: Extras) =>
  shop.sql(`select submit('orders', $1, $2, 'ada', bytes => 28, tags => $3, metadata => $4, expires_at => $5) as new`, [
    id,
    payload,
    tags,
    metadata === null ? null : JSON.stringify(metadata),
    expiresAt ?? null,
  ]);
const byClient = (id: string, extras: Extras) => shop.client.submit('orders', { id, payload, ...(extras as object) });
/** The rows of a task's labels and expiry; it is forgotten with them. */
const stored = async (id: string) =>
  (
    await shop.sql(
      `select l.tags, l.metadata::text, e.at, array(select g.tag from task_tag g where g.seq = k.seq
         and g.handler_id = l.handler_id order by 1) as found
       from task k left join task_label l using (seq) left join expiry e using (seq) where k.id = $1`,
      [id],
    )
  )[0];

const long = (bytes: number): string => 'ö'.repeat(Math.floor(bytes / 2)) + 'x'.repeat(bytes % 2);
/** Metadata that is so many bytes of JSON, in names and values that JSON escapes. */
const sized = (bytes: number): Record<string, string> => {
  const some = { 'a "name"\n': '\\\u0001\u007f\t🦉', b: '' };
  return { ...some, b: 'x'.repeat(bytes - Buffer.byteLength(JSON.stringify(some))) };
};
const many = (n: number): string[] => Array.from({ length: n }, (_, i) => `tag-${i}`);

test.each<[string, Extras]>([
  ['nothing', {}],
  ['empty ones', { tags: [], metadata: {} }],
  ['tags, each once, in their order', { tags: ['z', 'a', 'z', 'ö'] }],
  ['as many as there may be', { tags: many(TAGS_MAX) }],
  ['a tag of the most bytes', { tags: [long(TAG_BYTES_MAX)] }],
  ['metadata', { metadata: { order: '7', by: 'ada' } }],
  ['metadata of the most bytes', { metadata: sized(TASK_METADATA_BYTES_MAX) }],
  ['a time to expire', { expiresAt: '2099-05-01T00:00:00.000Z' }],
  ['all of them', { tags: ['a'], metadata: { b: 'c' }, expiresAt: '2099-05-01T00:00:00.000Z' }],
])('%s: stored as the client stores it, byte for byte', async (name, extras) => {
  expect(await bySql(`sql ${name}`, extras)).toEqual([{ new: true }]);
  await byClient(`client ${name}`, extras);
  const [one, other] = [await stored(`sql ${name}`), await stored(`client ${name}`)];
  const text = (row: typeof one) => String(row!['metadata'] ?? '{}');
  expect({ ...one, metadata: JSON.parse(text(one)) as unknown }).toEqual({
    ...other,
    metadata: JSON.parse(text(other)) as unknown,
  });
  expect(Buffer.byteLength(text(one))).toBe(Buffer.byteLength(text(other)));
  // A tenant's quota counts both alike.
  const used = (door: string) => readBacklog(shop.database.pool, `${door} ${name}`, 1);
  expect(await used('sql')).toEqual(await used('client'));
});

test('a tag finds the task, which shows all three', async () => {
  const expiresAt = '2099-05-01T00:00:00.000Z';
  await bySql('found', { tags: ['by-sql'], metadata: { order: '9' }, expiresAt });
  expect(
    (await shop.client.tasks.list('orders', { state: 'created', tag: 'by-sql' })).tasks.map(({ id }) => id),
  ).toEqual(['found']);
  expect(await shop.client.getTasks(['found'])).toMatchObject([
    { tags: ['by-sql'], metadata: { order: '9' }, expiresAt },
  ]);
  expect(await bySql('found', { tags: ['other'] })).toEqual([{ new: false }]);
  expect(await shop.client.getTasks(['found'])).toMatchObject([{ tags: ['by-sql'] }]);
});

test.each<[string, Extras, string, string]>([
  ['tags too many', { tags: many(TAGS_MAX + 1) }, '22023', 'INVALID_TAG'],
  ['a tag too long', { tags: ['a', long(TAG_BYTES_MAX + 1)] }, '22023', 'INVALID_TAG'],
  ['an empty tag', { tags: [''] }, '22023', 'INVALID_TAG'],
  ['no tag', { tags: ['a', 'b', null] }, '22023', 'INVALID_TAG'],
  ['metadata too long', { metadata: sized(TASK_METADATA_BYTES_MAX + 1) }, '54000', 'INVALID_METADATA'],
  ['metadata that is a list', { metadata: [7] }, '22023', 'INVALID_METADATA'],
  ['metadata that is a number', { metadata: 7 }, '22023', 'INVALID_METADATA'],
  ['a value that is no text', { metadata: { a: 'b', c: 7 } }, '22023', 'INVALID_METADATA'],
  ['a value that is null', { metadata: { c: null } }, '22023', 'INVALID_METADATA'],
  ['encoded metadata', { metadata: { $codec: 'x' } }, '22023', 'INVALID_METADATA'],
])('%s: refused, in the words of the client', async (_, extras, code, detail) => {
  const refused = await refusal(bySql('refused', extras));
  const theirs: unknown = await byClient('refused', extras).catch((error: unknown) => error);
  const { problems } = theirs as InvalidTaskError;
  expect(theirs).toBeInstanceOf(InvalidTaskError);
  expect(problems).toMatchObject([{ code: detail }]);
  // A list is shown as JSON here, as a value of JavaScript there; the remedy is another field.
  const words = (text: string) => text.replace(/[[\] ]|\.$|\. ?Put what is.*/g, '');
  expect(words(refused.message)).toBe(words(`Cannot submit the task: ${problems[0]!.field}: ${problems[0]!.message}`));
  expect(refused).toMatchObject({ code, detail, hint: expect.stringMatching(/^[A-Z].*\.$/) });
  expect(await stored('refused')).toBeUndefined();
});

test('a time to expire that is none is refused', async () => {
  for (const expiresAt of ['infinity', '1066-10-14Z'])
    expect(await refusal(bySql('refused', { expiresAt }))).toMatchObject({
      code: '22023',
      detail: 'INVALID_TIME',
      message: expect.stringMatching(/^Cannot submit the task: expires_at: expected a time from 1970 to 9999, got /),
    });
});

test('nothing in the store is against its rules', () => expectWhole(shop.client));
