import { SCOPES } from '../../../postgres/api/token';
import type { ApiWorld } from '../../api/world';
import { items, openWorld } from '../../api/world';
import { rounds } from '../../helpers/long';
import { expectWhole } from '../../helpers/whole';
import { bodies, FEW } from '../bodies';
import { Tally } from '../tally';
import { crookedTexts } from './crookedTexts';
import { pathsWith } from './pathsWith';
import { expectReadable } from './readable';

/** A thousand crooked texts (in the long form) at each text of each body, path and query. @slow */

const PER_FIELD = rounds(6, 1_000);
const SEED = 20_261_129;
const LONGEST_MS = rounds(240_000, 1_800_000);

const tally = new Tally('a thousand crooked texts at every text field');
let world: ApiWorld;
let token: string;
beforeAll(async () => {
  world = await openWorld();
  token = await world.token(...SCOPES);
});
afterAll(() => world.stop());

/** Returns for each text in a body what puts another one in its place. */
const fieldsOf = (body: unknown): ((text: string) => unknown)[] => {
  if (typeof body === 'string') return [(text) => text];
  if (Array.isArray(body))
    return body.flatMap((inner, i) =>
      fieldsOf(inner).map((put) => (text: string) => body.with(i, put(text)) as unknown),
    );
  if (typeof body !== 'object' || body === null) return [];
  return Object.entries(body).flatMap(([name, inner]) =>
    fieldsOf(inner).map((put) => (text: string) => ({ ...body, [name]: put(text) })),
  );
};

const attempt = async (route: string, body?: unknown): Promise<void> => {
  const { status, text } = await world.call(route, { token, ...(body === undefined ? {} : { body }) });
  tally.add(`${route} ${JSON.stringify(body)?.slice(0, 300)}`, status < 500 ? null : `${status} ${text}`);
};

test(
  'no text at any text field makes a 500, and everything that was stored can be read',
  async () => {
    await world.client.submit('items', { ...items('a', 'before')[0]!, tags: [FEW] });
    const { id: fanout } = await world.client.openFanout();
    await world.client.addItems(fanout, 8);
    const table = bodies(fanout);
    const texts = crookedTexts(SEED);
    const next = (): string => texts.next().value as string;
    let fields = 0;
    for (const { id, method } of world.api.routes.filter(({ body }) => body !== undefined)) {
      const [path, body] = table[id]!;
      for (const put of fieldsOf(body)) {
        fields++;
        for (let i = 0; i < PER_FIELD; i++) await attempt(`${method} ${path}`, put(next()));
      }
    }
    for (let i = 0; i < PER_FIELD; i++) for (const route of pathsWith(next())) await attempt(route);
    await expectReadable(world, token);
    await expectWhole(world.client);
    expect(world.logged.filter((line) => line.includes('"level":50'))).toEqual([]);
    expect(fields).toBeGreaterThan(70);
    tally.note = `${fields} fields of bodies and ${pathsWith('').length} of paths`;
    tally.expectNoneThrough(fields * PER_FIELD);
  },
  LONGEST_MS,
);
