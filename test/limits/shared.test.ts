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
 * The budget of one key, which two handlers share on two workers, as the downstream sees it.
 *
 * @full
 */

const KEY = { name: 'key', rate: { limit: 20, perMs: 1_000, unit: 'calls' as const }, concurrency: 6 };
const CONFIG = `
import { defineHandler } from 'temporal-muster';
export default ['left', 'right'].map((name) =>
  defineHandler({
    name,
    limits: { maxItems: 1 },
    linger: { lingerMs: 0 },
    idempotency: { by: 'batch' },
    sharesLimit: ${JSON.stringify(KEY)},
    target: (order) => order.to,
    submit: async (batch, { signal }) => {
      await fetch(process.env.METERED_URL + '/' + name, { method: 'POST', body: '{}', signal });
      return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' })) };
    },
  }),
);
`;

/** Strict within a process; a late call may come close to one of the other, on a busy machine. */
const MOST = 20 + 10;

let world: World;
let downstream: Metered;
let client: Client;
const submitted = { left: 0, right: 0 };
beforeAll(async () => {
  [world, downstream] = await Promise.all([createWorld(), startMetered(150)]);
  world.write('muster.config.ts', CONFIG);
  const handlers = (['left', 'right'] as const).map((name) =>
    defineHandler<{ to: string }>({
      name,
      limits: { maxItems: 1 },
      linger: { lingerMs: 0 },
      idempotency: { by: 'batch' },
      sharesLimit: KEY,
      target: ({ to }) => to,
      submit: () => Promise.reject(new Error('the workers make the calls')),
    }),
  );
  client = createClient({
    databaseUrl: world.database.url,
    prefix: world.env['MUSTER_PREFIX']!,
    temporal: { address: temporalAddress() },
    handlers,
  });
});
afterAll(async () => {
  await client.close();
  await world.close();
  await downstream.close();
});

const submit = async (name: 'left' | 'right', n: number): Promise<void> => {
  const tasks = Array.from({ length: n }, () => {
    const i = submitted[name]++;
    return { id: `${name}-${i}`, payload: { to: `t${i % 8}` } };
  });
  await client.submit(name, tasks);
};
const passed = async (ms: number): Promise<number> => {
  const from = performance.now();
  await eventually(() => performance.now() - from >= ms, { timeoutMs: ms + 10_000 });
  return from;
};

test('two handlers on two workers keep to it together, in equal parts, through the death of a worker', async () => {
  const start = async () => {
    const started = world.start('worker', { METERED_URL: downstream.url });
    await started.says(/"msg":"ready"/);
    return started;
  };
  const first = await start();
  await start();
  await submit('left', 700);
  await eventually(() => downstream.calls.length > 20, { what: 'calls of one' });
  const alone = await passed(3_000);
  expect(callsIn(downstream, alone, alone + 3_000)).toBeGreaterThanOrEqual(20);

  await submit('right', 300);
  await passed(3_000);
  downstream.most();
  const both = await passed(8_000);
  const [left, right] = ['/left', '/right'].map((path) => callsIn(downstream, both, both + 8_000, path)) as [
    number,
    number,
  ];
  expect(left + right).toBeGreaterThanOrEqual(60);
  expect(left + right).toBeLessThanOrEqual(168);
  expect(mostWithin(downstream, 1_000, alone, both + 8_000)).toBeLessThanOrEqual(MOST);
  expect(downstream.most()).toBeLessThanOrEqual(6);
  expect(Math.min(left, right) / Math.max(left, right)).toBeGreaterThan(0.5);

  // The last task of each target: the leaders' targets take turns, and one may be done by now.
  const last = Array.from({ length: 8 }, (_, n) => `left-${692 + n}`);
  await eventually(async () => {
    const texts = await Promise.all(last.map(async (id) => (await client.explain(id)).text));
    return texts.some((text) => /limit "key", which handler "left" shares, allows it no call for /.test(text));
  });

  first.child.kill('SIGKILL');
  const killedAt = performance.now();
  await eventually(() => callsIn(downstream, killedAt, Infinity, '/right') >= 20, {
    what: 'calls of right after the kill',
  });
  await eventually(() => callsIn(downstream, killedAt, Infinity, '/left') >= 20, {
    what: 'calls of left after the kill',
  });
  expect(mostWithin(downstream, 1_000, killedAt)).toBeLessThanOrEqual(MOST);
});

test('nothing that a dead worker held stays: all is done, and no invariant is violated', async () => {
  await eventually(
    async () => {
      const found = await client.status(undefined, { exact: true });
      return found.reduce((sum, { counts }) => sum + counts.succeeded, 0) === submitted.left + submitted.right;
    },
    { timeoutMs: 120_000, what: 'the end of all tasks' },
  );
  expect(mostWithin(downstream, 1_000, 0)).toBeLessThanOrEqual(MOST);
  await expectWhole(client);
});
