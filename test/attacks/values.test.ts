import { SCOPES } from '../../postgres/api/token';
import type { ApiWorld } from '../api/world';
import { items, openWorld } from '../api/world';
import { rounds } from '../helpers/long';
import { expectWhole } from '../helpers/whole';
import { bodies } from './bodies';
import { Tally } from './tally';

/** Crooked values in each place of each body and path: none breaks a writer or a reader. @slow */

const tally = new Tally('crooked values over HTTP');
let world: ApiWorld;
let token: string;
beforeAll(async () => {
  world = await openWorld();
  token = await world.token(...SCOPES);
});
afterAll(() => world.stop());

const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
const VALUES: readonly unknown[] = [
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfff\ud800',
  '',
  ' ',
  '\u202eabc',
  '\ufeff',
  '\uffff',
  'é'.repeat(300),
  'x'.repeat(5_000),
  '../../etc/passwd',
  '%00%2e%2e%2f',
  `'; drop table task; --`,
  '$$; select pg_sleep(9); $$',
  '{{payload}}',
  '__proto__',
  'constructor',
  'NaN',
  '-1',
  '1e309',
  'null',
  '\r\nSet-Cookie: a=b',
  '<script>alert(1)</script>',
  '\u001b[2J',
  null,
  true,
  0,
  -0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  1e300,
  [],
  {},
  [null],
  { __proto__: null, a: '\u0000' },
  { length: 1e9 },
  deep(50),
  deep(600),
];

/** Yields the body once per value and name in it, with a crooked one in its place. */
function* crooked(body: unknown, value: unknown): Generator<unknown> {
  yield value;
  if (Array.isArray(body)) {
    for (let i = 0; i < body.length; i++) for (const one of crooked(body[i], value)) yield body.with(i, one);
    return;
  }
  if (typeof body !== 'object' || body === null) return;
  for (const [name, inner] of Object.entries(body)) {
    for (const one of crooked(inner, value)) yield { ...body, [name]: one };
    if (typeof value === 'string') yield { ...body, [value]: inner };
  }
}

/** Paths with a text in them. */
const paths = (text: string): string[] => {
  const one = encodeURIComponent(text.toWellFormed());
  return [
    `GET /v1/tasks?state=failed&since=${one}`,
    `GET /v1/tasks?state=${one}`,
    `GET /v1/tasks?tag=${one}`,
    `GET /v1/tasks/${one}`,
    `GET /v1/tasks/${one}/explain`,
    `GET /v1/handlers/${one}`,
    `GET /v1/handlers/items/targets?after=${one}`,
    `GET /v1/handlers/items/tasks?state=failed&error=${one}`,
    `GET /v1/handlers/items/tasks?state=created&target=${one}`,
    `GET /v1/handlers/items/tasks?state=created&after=${one}`,
    `GET /v1/handlers/items/tasks?tag=t&after=${one}`,
    `GET /v1/handlers/items/tasks?state=created&order=${one}`,
    `GET /v1/handlers/items/batches?error=${one}`,
    `GET /v1/handlers/items/batches?target=${one}`,
    `GET /v1/handlers/items/batches?after=${one}`,
    `GET /v1/lanes/${one}`,
    `GET /v1/lanes?after=${one}`,
    `GET /v1/batches/${one}`,
    `GET /v1/executions/${one}`,
    `GET /v1/executions?limit=${one}`,
    `GET /v1/fanouts/${one}`,
    `GET /v1/partitions?handler=${one}`,
    `GET /v1/callbacks?handler=${one}`,
    `GET /v1/callbacks?after=${one}`,
    `POST /v1/callbacks/${one}/send`,
    `GET /v1/outcomes?since=${one}`,
    `GET /v1/outcomes?until=${one}`,
    `GET /v1/outcomes?after=${one}`,
    `GET /v1/errors?since=${one}`,
    `GET /v1/errors?handler=${one}`,
    `GET /v1/bulk/${one}`,
    `GET /v1/bulk?handler=${one}`,
    `GET /v1/bulk?after=${one}`,
    `POST /v1/bulk/${one}/stop`,
    `GET /v1/limits?handler=${one}`,
    `GET /v1/limits/${one}`,
    `DELETE /v1/limits/items/targets/${one}`,
    `GET /v1/shared-limits/${one}`,
    `GET /v1/shared-limits?after=${one}`,
    `DELETE /v1/shared-limits/${one}`,
    `GET /v1/audit?who=${one}`,
    `GET /v1/audit?before=${one}`,
    `POST /v1/nodes/${one}/drain`,
    `PUT /v1/lanes/${one}/weight`,
    `DELETE /v1/handlers/items/targets/${one}`,
  ];
};

const attempt = async (route: string, body: unknown): Promise<void> => {
  const answer = await world.call(route, { token, ...(body === undefined ? {} : { body }) });
  const isFine = answer.status < 500;
  tally.add(`${route} ${JSON.stringify(body)?.slice(0, 200)}`, isFine ? null : `${answer.status} ${answer.text}`);
};

test('no value makes a 500, and everything that was stored can be read', async () => {
  await world.client.submit('items', items('a', 'before'));
  const { id: fanout } = await world.client.openFanout();
  await world.client.addItems(fanout, 8);
  const table = bodies(fanout);
  const withBody = world.api.routes.filter(({ body }) => body !== undefined).map(({ id }) => id);
  expect(Object.keys(table).sort()).toEqual(withBody.sort());
  const every = rounds(9, 1);
  let n = 0;
  for (const { id, method } of world.api.routes.filter(({ body }) => body !== undefined)) {
    const [path, body] = table[id]!;
    for (const value of VALUES)
      for (const one of crooked(body, value)) if (n++ % every === 0) await attempt(`${method} ${path}`, one);
  }
  for (const value of VALUES.filter((one): one is string => typeof one === 'string'))
    for (const route of paths(value)) await attempt(route, undefined);
  await expectReadable();
  await expectWhole(world.client);
  const bugs = world.logged.filter((line) => line.includes('"level":50'));
  expect(bugs).toEqual([]);
  tally.expectNoneThrough(rounds(1_000, 7_000));
});

/** Every reader reads all of it. */
const expectReadable = async (): Promise<void> => {
  const { rows } = await world.database.pool.query<{ id: string }>('select id from task');
  const ids = rows.map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(1);
  for (let i = 0; i < ids.length; i += 1_000) {
    const some = ids.slice(i, i + 1_000);
    expect((await world.client.getTasks(some)).map(({ id }) => id)).toEqual(some);
  }
  for (const route of [
    '/v1/status',
    '/v1/lanes',
    '/v1/executions?limit=1000',
    '/v1/handlers/items/targets',
    '/v1/handlers/items/tasks?state=failed',
    '/v1/handlers/items/tasks?state=created',
    '/v1/errors',
    '/v1/outcomes',
    '/v1/callbacks',
    '/v1/bulk',
    '/v1/limits',
    '/v1/shared-limits',
    '/v1/handlers/items/batches',
    '/v1/audit',
  ])
    expect([route, (await world.call(`GET ${route}`, { token })).status]).toEqual([route, 200]);
};
