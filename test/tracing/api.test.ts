import type { ApiWorld } from '../api/world';
import { items, openWorld } from '../api/world';

/** The API continues the traces of its callers, without an SDK of its own. */

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const traceOf = async (id: string): Promise<unknown> => (await world.call(`GET /v1/tasks/${id}`)).body.traceparent;

test('what is submitted belongs to the trace of its request', async () => {
  const tasks = items('a', 'traced');
  await world.call('POST /v1/handlers/items/tasks', { body: { tasks }, headers: { traceparent } });
  expect(await traceOf('traced')).toBe(traceparent);
  const batches = [{ service: 'po', items: items('po', 'in-lane') }];
  await world.call('POST /v1/handlers/lane/batches', { body: { batches }, headers: { traceparent } });
  expect(await traceOf('in-lane')).toBe(traceparent);
});

test.each([
  ['none', undefined],
  ['one that is not recorded', traceparent.replace(/01$/, '00')],
  ['a malformed one', `${traceparent}'; drop table task; --`],
])('with %s it belongs to none', async (kind, given) => {
  const id = `without ${kind}`;
  const headers: Record<string, string> = given === undefined ? {} : { traceparent: given };
  const { status } = await world.call('POST /v1/handlers/items/tasks', { body: { tasks: items('a', id) }, headers });
  expect(status).toBe(200);
  expect(await traceOf(encodeURIComponent(id))).toBeUndefined();
});
