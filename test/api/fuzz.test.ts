import { fuzz } from './schemathesis';
import type { ApiWorld } from './world';
import { items, openWorld } from './world';

/**
 * The API against its own document, tried by a schema-driven fuzzer. `npm run test:fuzz` is the
 * longer form.
 */

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld({ limits: { maxWaitS: 0 } });
  await world.call('POST /v1/handlers/items/tasks', { body: { tasks: items('0', '0') } });
});
afterAll(() => world.stop());

test('HTTP API: fuzzed by its own OpenAPI document: no 5xx, every answer as documented', async () => {
  const token = await world.token('admin');
  const { ok, output } = await fuzz({
    url: world.api.url,
    token,
    phases: 'fuzzing',
    examples: 3,
    seed: 7,
    maxSeconds: 8,
  });
  if (!ok) throw new Error(output.slice(-20_000));
  // How far it comes in that time is the machine's affair: the generator is slow, and `npm run
  // test:fuzz` has no such limit.
  expect(output).toMatch(/[1-9][\d,]* generated/);
  expect(world.logged.filter((line) => line.includes('"level":50'))).toEqual([]);
  expect(await world.client.verify({ full: true })).toMatchObject({ ok: true });
}, 400_000);
