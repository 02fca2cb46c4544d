import { spawn } from 'node:child_process';
import { workOffEnded } from '../../activities/grouping/dependents';
import { finishBatch, settleSucceeded } from '../../postgres/calls/settle';
import type { Client } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import type { Shop } from '../client/shop';
import { broken, cut, openShop, placesOf, statesOf } from '../client/shop';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';

/** @slow */

/** A dependency ends while what depends on it is submitted: whichever comes first, none is left. */
let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(async () => {
  expect(await broken(shop.client)).toEqual({});
  await shop.stop();
});

const task = (id: string, ...dependsOn: string[]) => ({ id, payload: { to: 'se' }, dependsOn });

/** Sessions that wait for a lock. */
const waiting = (): Promise<unknown> =>
  eventually(async () => {
    const text = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    return (await shop.pool.query({ text })).rowCount! > 0;
  });

const workedOff = (): Promise<unknown> =>
  eventually(async () => {
    await workOffEnded(shop.pool);
    return (await shop.pool.query('select from ended_dependency')).rowCount === 0;
  });

/** Runs `work` in a transaction, and lets `meanwhile` begin before its commit. */
const before = (work: (client: Client) => Promise<unknown>, meanwhile: () => Promise<unknown>): Promise<void> =>
  inTransaction(shop.pool, async (client) => {
    await work(client);
    await meanwhile();
  });

test('the end comes first: a submit waits for it, and counts it', async () => {
  await shop.client.submit('items', task('first'));
  const id = await cut(shop.pool, ['first'], { attempt: 1 });
  let submitted: Promise<unknown> = Promise.resolve();
  await before(
    (client) => finishBatch(client, id, 4, true, 0, null),
    async () => {
      submitted = shop.client.submit('items', task('second', 'first'));
      await waiting();
    },
  );
  await submitted;
  await workedOff();
  expect(await placesOf(shop.pool, 'second')).toEqual(['queue']);
});

test('the submit comes first: the end waits for it, and notes what it submitted', async () => {
  await shop.client.submit('items', task('third'));
  const id = await cut(shop.pool, ['third']);
  let settled: Promise<Map<number, boolean>> = Promise.resolve(new Map<number, boolean>());
  await before(
    async (tx) => shop.client.submit('items', task('fourth', 'third'), { tx }),
    async () => {
      settled = settleSucceeded(shop.pool, [{ id, attempt: 0, counts: true }], [], []);
      await waiting();
    },
  );
  expect(await settled).toEqual(new Map([[id, true]]));
  await workedOff();
  expect(await placesOf(shop.pool, 'fourth')).toEqual(['queue']);
});

test('a cancellation waits for the submit of what depends on the task, and fails it', async () => {
  await shop.client.submit('items', task('fifth'));
  let cancelled: Promise<unknown> = Promise.resolve();
  await before(
    async (tx) => shop.client.submit('items', task('sixth', 'fifth'), { tx }),
    async () => {
      cancelled = shop.client.cancel('fifth');
      await waiting();
    },
  );
  await cancelled;
  await workedOff();
  expect(await statesOf(shop.client, 'fifth', 'sixth')).toEqual(['fifth cancelled 0', 'sixth failed 0']);
});

test('two dependencies end at once, worked off side by side: the last one releases', async () => {
  for (let round = 0; round < rounds(10, 300); round++) {
    const ids = [`l${round}`, `r${round}`];
    await shop.client.submit('items', [task(ids[0]!), task(ids[1]!), task(`j${round}`, ...ids)]);
    const batches = await Promise.all(ids.map((id) => cut(shop.pool, [id])));
    await Promise.all(
      batches.map(async (id) => {
        await settleSucceeded(shop.pool, [{ id, attempt: 0, counts: true }], [], []);
        await workOffEnded(shop.pool);
      }),
    );
    await workedOff();
    expect(await placesOf(shop.pool, `j${round}`)).toEqual(['queue']);
  }
});

test('submits beside ends, at random: every dependent goes on', async () => {
  for (let round = 0; round < rounds(25, 1_000); round++) {
    const needed = `n${round}`;
    await shop.client.submit('items', task(needed));
    const id = await cut(shop.pool, [needed]);
    const dependents = [0, 1, 2].map((i) => `d${round}-${i}`);
    await Promise.all([
      settleSucceeded(shop.pool, [{ id, attempt: 0, counts: true }], [], []),
      ...dependents.map((one) => shop.client.submit('items', task(one, needed))),
    ]);
    await workedOff();
    for (const one of dependents) expect(await placesOf(shop.pool, one)).toEqual(['queue']);
  }
});

/** Works ends off until it is killed. */
const WORKER = `
const { createPool } = require('./dist/postgres/pool');
const { workOffEnded } = require('./dist/activities/grouping/dependents');
const pool = createPool({ databaseUrl: process.argv[1], schema: 'muster' });
(async () => { for (;;) await workOffEnded(pool); })();`;

test('a process killed while it works off a chain leaves the rest to the next one', async () => {
  const text = `
select count(*)::int as n from outcome o join task k using (seq) where k.id ~ '^k[0-9]' and o.state = 5`;
  const failed = async (): Promise<number> => (await shop.pool.query<{ n: number }>({ text })).rows[0]!.n;
  const chain = Array.from({ length: 6_000 }, (_, i) => task(`k${i}`, ...(i === 0 ? [] : [`k${i - 1}`])));
  await shop.client.submit('items', chain);
  const id = await cut(shop.pool, ['k0'], { attempt: 1 });
  await inTransaction(shop.pool, (client) => finishBatch(client, id, 5, true, 0, 'no'));
  for (let kill = 0; kill < rounds(2, 20); kill++) {
    const before = await failed();
    const worker = spawn(process.execPath, ['-e', WORKER, shop.database.url], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    await eventually(async () => (await failed()) > before, { everyMs: 1 });
    worker.kill('SIGKILL');
    await ended;
  }
  await workedOff();
  expect(await failed()).toBe(5_999);
});
