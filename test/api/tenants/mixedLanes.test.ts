import type { Scope } from '../../../postgres/api/token';
import { insertToken } from '../../../postgres/api/token';
import { defineHandler } from '../../../handlers';
import type { Call } from '../../../workers/api/route';
import { batchRoutes } from '../../../workers/api/routes/batches';
import { laneRoutes } from '../../../workers/api/routes/lanes';
import { taskRoutes } from '../../../workers/api/routes/tasks';
import type { Quotas } from '../../../workers/api/tenants/quotas';
import { within } from '../../../workers/api/tenants/within';
import { hashToken, newToken } from '../../../workers/api/tokens';
import { eventually } from '../../helpers/eventually';
import type { ApiWorld, Place } from '../world';
import { items, openWorld, worldHandlers } from '../world';
import { halt } from './halt';

/** Lanes with batches of several handlers, for a token that is limited to one of them. */

const other = defineHandler<Place>({
  name: 'other',
  target: ({ to }) => to,
  limits: { maxItems: 100 },
  service: (target) => target,
  lane: { approach: 'serial' },
  submit: async () => ({ results: [] }),
});
let world: ApiWorld;
let token: string;
const HANDLERS = ['lane'];
beforeAll(async () => {
  world = await openWorld({ handlers: [...worldHandlers(), other] });
  token = newToken();
  const scopes: readonly Scope[] = ['read', 'operate'];
  await insertToken(world.database.pool, { name: 'lane', hash: hashToken(token), scopes, handlers: HANDLERS });
  await submit('lane', 'own');
  await eventually(async () => (await call('GET', 'own')).status === 200);
});
afterAll(() => world.stop());

const submit = async (handler: 'lane' | 'other', service: string): Promise<number> => {
  const id = `${handler}-${service}-${Math.random()}`;
  return (await world.client.batches.submit(handler, service, items(service, id))).batch;
};
const call = (method: 'GET' | 'POST', path: string, headers: Record<string, string> = {}) =>
  world.call(`${method} /v1/lanes/${path}`, { token, headers });

/** The answers to each verb on a lane as a whole. */
const asWhole = async (service: string, headers: Record<string, string> = {}): Promise<number[]> => {
  const answers = [await call('GET', service)];
  for (const verb of ['lost', 'pause', 'resume']) answers.push(await call('POST', `${service}/${verb}`, headers));
  return answers.map(({ status }) => status);
};
const [THEIRS, NOT_THEIRS] = [200, 404].map((status) => [status, status, status, status]);

test('a lane with an open batch of another handler is not theirs to see or steer', async () => {
  await submit('lane', 'mixed');
  expect(await asWhole('mixed')).toEqual(THEIRS);
  const foreign = await submit('other', 'mixed');
  await world.client.pauseLane('mixed', 'of other');
  expect(await asWhole('mixed')).toEqual(NOT_THEIRS);
  expect(await asWhole('mixed', { 'dry-run': 'true' })).toEqual(NOT_THEIRS);
  expect(await world.client.lane('mixed')).toMatchObject({ state: 'paused', reason: 'of other' });
  await world.client.batches.cancel(foreign);
  expect(await asWhole('mixed')).toEqual(THEIRS);
  await halt(world.database.pool, 'mixed', foreign);
  expect(await asWhole('mixed')).toEqual(NOT_THEIRS); // it would tell why the other one was refused
});

test("a lane that another handler's batch halts is answered as none, and names no handler", async () => {
  await submit('lane', 'halted');
  await halt(world.database.pool, 'halted', await submit('other', 'halted'));
  const skip = async (service: string) => {
    const { status, text } = await call('POST', `${service}/skip`);
    return [status, text.replaceAll(service, '_')];
  };
  expect(await skip('halted')).toEqual(await skip('none'));
});

test('a dry run of what they may do in a mixed lane shows only batches of theirs', async () => {
  const [own, foreign] = [await submit('lane', 'tried'), await submit('other', 'tried')];
  const dry = (path: string) => call('POST', path, { 'dry-run': 'true' });
  await halt(world.database.pool, 'tried', own);
  const next = await submit('lane', 'tried');
  const { batches } = (await dry('tried/skip')).body.now as { batches: { batch: number }[] };
  expect(batches.map(({ batch }) => batch)).toEqual([next]);
  await halt(world.database.pool, 'tried', foreign);
  expect((await dry('tried/skip')).status).toBe(404);
});

/** Between the check of a call and its work the lane continues, and halts on another batch. */
const raced = async (
  id: 'skipHead' | 'fixHead',
  body: object,
): Promise<{ batch: number; result: Promise<unknown> }> => {
  const [own, foreign] = [await submit('lane', id), await submit('other', id)];
  await halt(world.database.pool, id, own);
  const route = laneRoutes.find((one) => one.id === id)!;
  const limits = { tenant: null, handlers: HANDLERS };
  const late = { ...route, run: async (made: Call) => (await halt(world.database.pool, id, foreign), route.run(made)) };
  const { client, database } = world;
  const made = { params: { service: id }, body, client } as unknown as Call;
  return { batch: foreign, result: within(late, limits, { pool: database.pool, quotas: {} as Quotas }).run(made) };
};
/** Between the check of a submit into a new lane and its work another handler takes that name. */
const beaten = (id: 'submitBatches' | 'submitTasks', service: string, more: object): Promise<unknown> => {
  const route = [...batchRoutes, ...taskRoutes].find((one) => one.id === id)!;
  const late = (made: Call): Call => ({
    ...made,
    admit: async (...args) => (await made.admit?.(...args), void (await submit('other', service))),
  });
  const { client, database } = world;
  const limits = { tenant: null, handlers: HANDLERS };
  const [tasks, batches] = [items(service, `${service} t`), [{ service, items: items(service, `${service} b`) }]];
  const made = {
    params: { handler: 'lane' },
    body: { ...more, tasks, batches },
    client,
    operator: {},
  } as unknown as Call;
  const run = (call: Call) => route.run(late(call));
  return within({ ...route, run }, limits, { pool: database.pool, quotas: {} as Quotas }).run(made);
};

test.each([
  ['submitBatches', {}],
  ['submitTasks', {}],
  ['submitTasks', { partial: true }],
] as const)('%s puts nothing into a new lane that another handler took at the same time', async (id, more) => {
  const service = `new ${id} ${JSON.stringify(more)}`;
  await expect(beaten(id, service, more)).rejects.toMatchObject({ problem: 'not-found' });
  expect(await world.client.lane(service)).toMatchObject({ depth: 1, batches: [{ handler: 'other' }] });
  const bound = `select from target t join handler h on h.id = t.handler_id
    where h.name = 'lane' and t.key = $1 and t.lane_id is not null`;
  expect((await world.database.pool.query(bound, [service])).rows).toEqual([]); // it would be for good
});
const haltedBy = async (service: string): Promise<number | null> => (await world.client.lane(service)).haltedBy;

test.each([
  ['skipHead', {}],
  ['fixHead', { as: 'applied' }],
] as const)('%s acts on the batch that was checked, and on none that halts the lane by then', async (id, body) => {
  const { batch, result } = await raced(id, body);
  await expect(result).rejects.toMatchObject({ code: 'OTHER_BATCH_HALTS' });
  expect(await haltedBy(id)).toBe(batch);
});

test('a batch that is meant is the one that was checked; a lane that is not halted stays so', async () => {
  const foreign = await submit('other', 'meant');
  const own = await submit('lane', 'named');
  await halt(world.database.pool, 'named', own);
  const skip = (service: string, body: object) => world.call(`POST /v1/lanes/${service}/skip`, { token, body });
  expect(await skip('named', { batch: foreign })).toMatchObject({ status: 409, body: { code: 'OTHER_BATCH_HALTS' } });
  expect((await skip('named', { batch: own })).status).toBe(200);
  expect(await skip('named', {})).toMatchObject({ status: 409, body: { code: 'NOT_HALTED' } });
  expect((await skip('none', {})).status).toBe(404);
  await halt(world.database.pool, 'named', 999_999_999); // as if the batch was deleted after its retention
  expect((await skip('named', {})).status).toBe(200);
});
