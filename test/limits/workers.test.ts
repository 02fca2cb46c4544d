import { createClient } from '../../client';
import type { Client } from '../../client';
import { defineHandler } from '../../handlers';
import { temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { expectWhole } from '../helpers/whole';
import type { World } from '../cli/world';
import { createWorld } from '../cli/world';
import type { Metered } from './meter';
import { callsIn, mostWithin, startMetered } from './meter';

/**
 * Limits that change while two worker processes send, as the downstream sees them.
 *
 * @full
 */

const CONFIG = `
import { defineHandler } from 'temporal-muster';
export default [
  defineHandler({
    name: 'paid',
    limits: { maxItems: 1 },
    linger: { lingerMs: 0 },
    concurrency: { perTarget: 20, perHandler: 40 },
    idempotency: { by: 'batch' },
    target: (order) => order.to,
    submit: async (batch, { signal }) => {
      await fetch(process.env.METERED_URL + '/' + batch.target, { method: 'POST', body: '{}', signal });
      return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' })) };
    },
  }),
];
`;

let world: World;
let downstream: Metered;
let client: Client;
let submitted = 0;
beforeAll(async () => {
  [world, downstream] = await Promise.all([createWorld(), startMetered(150)]);
  world.write('muster.config.ts', CONFIG);
  const paid = defineHandler<{ to: string }>({
    name: 'paid',
    limits: { maxItems: 1 },
    linger: { lingerMs: 0 },
    concurrency: { perTarget: 20, perHandler: 40 },
    idempotency: { by: 'batch' },
    target: ({ to }) => to,
    submit: () => Promise.reject(new Error('the workers make the calls')),
  });
  client = createClient({
    databaseUrl: world.database.url,
    prefix: world.env['MUSTER_PREFIX']!,
    temporal: { address: temporalAddress() },
    handlers: [paid],
    actor: 'ana',
  });
});
afterAll(async () => {
  await client.close();
  await world.close();
  await downstream.close();
});

const submit = async (n: number): Promise<void> => {
  const tasks = Array.from({ length: n }, () => {
    submitted++;
    return { id: `p-${submitted}`, payload: { to: `t${submitted % 8}` } };
  });
  await client.submit('paid', tasks);
};
const worker = async () => {
  const started = world.start('worker', { METERED_URL: downstream.url });
  await started.says(/"msg":"ready"/);
  return started;
};
const passed = async (ms: number): Promise<number> => {
  const from = performance.now();
  await eventually(() => performance.now() - from >= ms, { timeoutMs: ms + 10_000 });
  return from;
};
/** How long a change may take until every worker follows. */
const FOLLOWED_MS = 2_500;

test('a rate set while two workers send holds over both, through the death of one, until it is removed', async () => {
  const [first] = [await worker(), await worker()];
  await submit(6_000);
  await eventually(() => downstream.calls.length > 100, { what: 'calls of both' });
  const before = await passed(2_000);
  const unlimited = callsIn(downstream, before, before + 2_000);
  expect(unlimited).toBeGreaterThan(60);

  const set = await client.limits.set('paid', { rate: { limit: 10, perMs: 1_000, unit: 'calls' } });
  expect(set.changed).toEqual([
    { limit: 'rate', from: [], to: [{ limit: 10, perMs: 1_000, unit: 'calls', scope: 'handler' }] },
  ]);
  await passed(FOLLOWED_MS);
  const during = await passed(5_000);
  const paced = callsIn(downstream, during, during + 5_000);
  expect(paced).toBeGreaterThanOrEqual(30);
  expect(paced).toBeLessThanOrEqual(55);
  expect(mostWithin(downstream, 1_000, during, during + 5_000)).toBeLessThanOrEqual(14);

  first.child.kill('SIGKILL');
  const killedAt = performance.now();
  await eventually(() => callsIn(downstream, killedAt + 3_000, Infinity) >= 60, { what: 'calls after the kill' });
  const again = performance.now();
  expect(callsIn(downstream, killedAt, again) / ((again - killedAt) / 1_000)).toBeLessThanOrEqual(12);
  expect(mostWithin(downstream, 1_000, killedAt, again)).toBeLessThanOrEqual(16);

  await client.limits.remove('paid');
  const removedAt = performance.now();
  await eventually(() => mostWithin(downstream, 1_000, removedAt) > 30, { timeoutMs: FOLLOWED_MS + 1_500 });
});

test('calls at once follow down and up, of the handler and of one target', async () => {
  await worker();
  await eventually(() => downstream.most() > 8, { everyMs: 500, what: 'many calls at once' });
  await client.limits.set('paid', { concurrency: { perHandler: 3 } });
  await passed(FOLLOWED_MS);
  downstream.most();
  await passed(3_000);
  expect(downstream.most()).toBeLessThanOrEqual(3);

  await client.limits.set('paid', { concurrency: { perHandler: null } });
  await client.limits.set('paid', { concurrency: { perTarget: 1 } }, { target: 't1' });
  await passed(FOLLOWED_MS);
  downstream.most('/t1');
  downstream.most();
  await passed(3_000);
  expect(downstream.most('/t1')).toBeLessThanOrEqual(1);
  expect(downstream.most()).toBeGreaterThan(3);
  await client.limits.remove('paid', { target: 't1' });
});

test('all that was submitted is done, and no invariant is violated', async () => {
  const [status] = await eventually(
    async () => {
      const found = await client.status('paid', { exact: true });
      return found[0]!.counts.succeeded === submitted && found;
    },
    { timeoutMs: 180_000, what: 'the end of all tasks' },
  );
  expect(status!.identityHolds).toBe(true);
  await expectWhole(client);
});
