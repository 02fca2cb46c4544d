import { randomBytes, randomInt } from 'node:crypto';
import pg from 'pg';
import type { Client } from '../../client';
import { createClient } from '../../client';
import { defineHandler } from '../../handlers';
import { isReference } from '../../handlers/call';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, NO_TEMPORAL } from '../helpers/database';
import { callbackFault } from '../../workflows/planning/callbacks/address';

/**
 * Postgres refuses a row of a btree of more than 2,704 bytes, after compression. So no text that an
 * index holds may be longer, in bytes and however random, where its limit allows it.
 *
 * @slow
 */

const CHARACTERS = {
  'of ASCII': () => randomBytes(1).toString('base64')[0]!,
  'of 3 bytes': () => String.fromCodePoint(randomInt(0x4e00, 0x9fff)),
  'of 4 bytes': () => String.fromCodePoint(randomInt(0x10000, 0x10ffff)),
};
type Characters = keyof typeof CHARACTERS;

/** Returns the longest random text that is accepted, of at most 12,000 characters. */
const longest = (of: Characters, accepts: (text: string) => boolean): string => {
  const characters = Array.from({ length: 12_000 }, CHARACTERS[of]);
  let [most, tooMany] = [0, characters.length + 1];
  while (tooMany - most > 1) {
    const n = (most + tooMany) >> 1;
    if (accepts(characters.slice(0, n).join(''))) most = n;
    else tooMany = n;
  }
  return characters.slice(0, most).join('');
};
const bytes =
  (most: number) =>
  (of: Characters): string =>
    longest(of, (text) => Buffer.byteLength(text) <= most);
const HTTPS = 'https://a.example/';
const url = (of: Characters): string => HTTPS + longest(of, (end) => callbackFault({ url: HTTPS + end }) === null);
/** The longest ids and signal, one after the other. */
const workflow = (of: Characters): object => {
  const workflowId = longest(of, (id) => callbackFault({ workflowId: id }) === null);
  const runId = longest(of, (id) => callbackFault({ workflowId, runId: id }) === null);
  const signal = longest(of, (name) => callbackFault({ workflowId, runId, signal: name }) === null);
  return Object.fromEntries(Object.entries({ workflowId, runId, signal }).filter(([, text]) => text !== ''));
};

/** The longest of what each column may hold, of those that an index holds as they are. */
const TEXTS: Readonly<Record<string, (of: Characters) => unknown>> = {
  'api_token.hash': () => randomBytes(32),
  'batch.reference': (of) => longest(of, isReference),
  'busy_key.key': (of) => `coalesce:${bytes(512)(of)}`,
  'drain.node': bytes(300),
  'execution.tenant': bytes(63),
  'fanout.tenant': bytes(63),
  'fanout_add.key': bytes(256),
  'handler.name': bytes(64),
  'idempotency_key.key': bytes(255),
  'idempotency_key.route': bytes(300), // one of the routes of the API
  'lane.partition': bytes(100), // <handler>/<number>
  'lane.service': bytes(512),
  'leader.name': bytes(512), // a target, or a number
  'lease.holder': bytes(300), // the id of a node
  'lease.resource': bytes(100),
  'node.id': bytes(300),
  'partition.resource': bytes(100),
  'recipient.address': url,
  'shared_limit.name': bytes(64),
  'target.key': bytes(512),
  'task.id': bytes(256),
  'task_tag.tag': bytes(100),
  'tenant.name': bytes(63),
  'unneeded_object.key': bytes(36), // a UUID
};

const handler = defineHandler<{ to: string; key: string }>({
  name: 'long',
  target: ({ to }) => to,
  distinctBy: ({ key }) => key,
  limits: { maxItems: 1 },
  linger: { lingerMs: 1 },
  submit: async () => ({ results: [] }),
});

let database: TestDatabase;
let session: pg.Client;
let client: Client;
beforeAll(async () => {
  database = await createDatabase();
  session = new pg.Client({ connectionString: database.url, options: '-c search_path=muster' });
  await session.connect();
  client = createClient({ databaseUrl: database.url, handlers: [handler], temporal: NO_TEMPORAL });
});
afterAll(async () => {
  await client.close();
  await session.end();
  await database.drop();
});

/** An index, and those of its columns that hold text of any length. */
interface Index {
  table: string;
  definition: string;
  columns: string[];
}
const readIndexes = async (): Promise<Index[]> => {
  const { rows } = await session.query<Index>(`
select c.relname as table, pg_get_indexdef(i.indexrelid) as definition,
  array_agg(a.attname::text order by a.attnum) as columns
from pg_index i join pg_class c on c.oid = i.indrelid join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = 'muster'::regnamespace and a.attnum = any(i.indkey)
  and format_type(a.atttypid, null) in ('text', 'json', 'jsonb', 'bytea')
group by c.relname, i.indexrelid
order by c.relname, i.indexrelid`);
  return rows;
};

test('each text of which an index holds a copy has a limit here, and no other', async () => {
  const indexed = (await readIndexes()).flatMap(({ table, columns }) => columns.map((column) => `${table}.${column}`));
  expect([...new Set(indexed)].sort()).toEqual(Object.keys(TEXTS).sort());
});

describe.each(Object.keys(CHARACTERS) as Characters[])('random text %s', (of) => {
  test('each index holds the longest', async () => {
    for (const { table, definition, columns } of await readIndexes()) {
      await session.query('drop table if exists probe');
      await session.query(`create temp table probe as select * from muster.${table} with no data`);
      await session.query(definition.replace(/ ON \S+ /, ' ON probe '));
      const longestOf = (column: string): unknown => TEXTS[`${table}.${column}`]!(of);
      const rows = table === 'recipient' ? [[{ url: url(of) }], [workflow(of)]] : [columns.map(longestOf)];
      const places = columns.map((_column, i) => `$${i + 1}`).join(', ');
      for (const row of rows) await session.query(`insert into probe (${columns.join(', ')}) values (${places})`, row);
    }
  });

  test('a submit takes the longest by every door', async () => {
    const id = () => bytes(256)(of);
    const payload = () => ({ to: bytes(512)(of), key: bytes(512)(of) });
    const tags = Array.from({ length: 10 }, () => bytes(100)(of));
    const given = { payload: payload(), tags, callback: { url: url(of) } };
    await client.submit('long', { ...given, id: id() });
    await client.submit('long', { ...given, id: id(), callback: workflow(of) as { workflowId: string } });
    const { to, key } = given.payload;
    await session.query('select submit($1, $2, $3, $4, distinct_key => $5, tags => $6, callback => $7)', [
      'long',
      id(),
      { to, key },
      to,
      key,
      tags,
      { url: url(of) },
    ]);
  });
});

test.each([
  ['half of a surrogate pair', '\ud800'],
  ['U+0000', '\0'],
])('no callback has %s, which the database cannot hold', async (_, part) => {
  for (const callback of [{ url: `${HTTPS}${part}` }, { workflowId: `a${part}` }, { workflowId: 'a', signal: part }])
    await expect(client.submit('long', { id: 'x', payload: { to: 'a', key: 'b' }, callback })).rejects.toMatchObject({
      code: 'INVALID_CALLBACK',
    });
});
