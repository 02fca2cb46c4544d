import { SCOPES } from '../../postgres/api/token';
import type { ApiWorld } from '../api/world';
import { items, openWorld } from '../api/world';
import { rounds } from '../helpers/long';
import { expectWhole } from '../helpers/whole';
import { bodies } from './bodies';
import { Tally } from './tally';
import { pathsWith } from './texts/pathsWith';
import { expectReadable } from './texts/readable';

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
    for (const route of pathsWith(value)) await attempt(route, undefined);
  await expectReadable(world, token);
  await expectWhole(world.client);
  const bugs = world.logged.filter((line) => line.includes('"level":50'));
  expect(bugs).toEqual([]);
  tally.expectNoneThrough(rounds(1_000, 7_000));
});
