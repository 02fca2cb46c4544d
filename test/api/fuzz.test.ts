import { fuzz } from './schemathesis';
import type { ApiWorld } from './world';
import { items, openWorld } from './world';

/**
 * The API against its own document, tried by a schema-driven generator with what keeps to it.
 * `npm run test:fuzz` is the longer form: also what breaks it, at random, and in sequences.
 */

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld({ limits: { maxWaitS: 0 } });
  await world.call('POST /v1/handlers/items/tasks', { body: { tasks: items('0', '0') } });
});
afterAll(() => world.stop());

test('HTTP API: every operation of its own OpenAPI document is tried: no 5xx, every answer as documented', async () => {
  const token = await world.token('admin');
  const { body } = await world.call('GET /openapi.json', { token });
  // The document itself is the one operation that the generator leaves out.
  delete (body as { paths: Record<string, object> }).paths['/openapi.json'];
  const operations = Object.values((body as { paths: Record<string, object> }).paths).flatMap((path) =>
    Object.keys(path).filter((key) => /^(get|put|post|patch|delete)$/.test(key)),
  );
  const { ok, output } = await fuzz({
    url: world.api.url,
    token,
    phases: 'coverage',
    mode: 'positive',
    examples: 1,
    seed: 7,
  });
  if (!ok) throw new Error(output.slice(-20_000));
  expect(operations.length).toBeGreaterThan(50);
  expect(output).toContain(`Selected: ${operations.length}/${operations.length}`);
  expect(output).toContain(`Tested: ${operations.length}\n`);
  expect(world.logged.filter((line) => line.includes('"level":50'))).toEqual([]);
  expect(await world.client.verify({ full: true })).toMatchObject({ ok: true });
}, 600_000);
