import { fuzz } from '../../api/schemathesis';
import type { Fuzz } from '../../api/schemathesis';
import type { ApiWorld } from '../../api/world';
import { items, openWorld } from '../../api/world';
import { rounds } from '../../helpers/long';
import { Tally } from '../tally';
import type { Kind } from './kinds';
import { KINDS, makeTokens } from './kinds';
import type { Document } from './operations';
import { faultOf, Operations } from './operations';
import { startTokenChanger } from './tokenChanger';

/**
 * The API against its own document, tried by a schema-driven generator with what keeps to it, as
 * callers of every kind in turn. The long form also tries what breaks it, at random, and in
 * sequences; `npm run test:fuzz` does that for longer, as one caller who may everything.
 *
 * @full
 */

const tallies = new Map(KINDS.map((kind) => [kind, new Tally(`HTTP API by its document: token ${kind.name}`)]));
/** Operations at which a kind was neither told 401 nor 403. */
const letIn = new Map<Kind, Set<string>>(KINDS.map((kind) => [kind, new Set()]));

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld({ limits: { maxWaitS: 0 } });
  await world.call('POST /v1/handlers/items/tasks', { body: { tasks: items('0', '0') } });
});
afterAll(() => world.stop());

const RUNS: readonly Pick<Fuzz, 'phases' | 'mode' | 'examples' | 'maxSeconds' | 'alsoAnswers'>[] = [
  { phases: 'coverage', mode: 'positive', examples: 1, alsoAnswers: [401, 403] },
  {
    phases: 'examples,coverage,fuzzing,stateful',
    mode: 'all',
    examples: 20,
    maxSeconds: 240,
    // 400: at random come whole numbers that cannot be kept exactly, which the schema of a free
    // value does not exclude.
    alsoAnswers: [400, 401, 403],
  },
];

test('HTTP API: every operation of its own OpenAPI document is tried: no 5xx, every answer as documented', async () => {
  const tokens = await makeTokens(world);
  const { body } = await world.call('GET /openapi.json', { token: tokens.get(KINDS[0]!)! });
  // The document itself is the one operation that the generator leaves out.
  const { '/openapi.json': _, ...paths } = (body as Document).paths;
  const operations = new Operations({ paths });
  const routes = new Map(world.api.routes.map((route) => [route.id, route]));
  const changer = await startTokenChanger({
    url: world.api.url,
    tokens,
    operations,
    onAnswer: (answer) => {
      const { kind, operation, status, asked } = answer;
      if (status !== 401 && status !== 403) letIn.get(kind)!.add(operation.id);
      tallies.get(kind)!.add(asked.slice(0, 300), faultOf(routes.get(operation.id)!, answer));
    },
  });
  try {
    for (const run of RUNS.slice(0, rounds(1, 2))) {
      const { ok, output } = await fuzz({ url: changer.url, token: changer.token, seed: 7, ...run });
      if (!ok) throw new Error(output.slice(-20_000));
      expect(output).toContain(`Selected: ${operations.ids.length}/${operations.ids.length}`);
      expect(output).toContain(`Tested: ${operations.ids.length}\n`);
    }
  } finally {
    await changer.close();
  }
  expect(operations.ids.length).toBeGreaterThan(50);
  expect([...letIn.get(KINDS[0]!)!].sort()).toEqual(operations.ids.sort());
  expect(world.logged.filter((line) => line.includes('"level":50'))).toEqual([]);
  expect(await world.client.verify({ full: true })).toMatchObject({ ok: true });
  for (const [kind, tally] of tallies) {
    tally.note = `let in at ${letIn.get(kind)!.size} of ${operations.ids.length} operations`;
    tally.expectNoneThrough(operations.ids.length);
  }
}, 1_200_000);
