import type { Client } from '../../../client';
import { createClient, defineHandler } from '../../../client';
import { temporalAddress } from '../../helpers/database';
import type { World } from '../world';
import { CONFIG, createWorld } from '../world';

/** C12: lanes on the command line. No worker: what waits stays where it is. */

let world: World;
let client: Client;
let first: number;
beforeAll(async () => {
  world = await createWorld();
  world.write('muster.config.ts', CONFIG.replace('...settings,', '...settings, lane: {},'));
  client = createClient({
    databaseUrl: world.database.url,
    prefix: 'lanes-cli',
    temporal: { address: temporalAddress() },
    handlers: [
      defineHandler<{ country: string }>({
        name: 'orders',
        lane: {},
        target: ({ country }) => country,
        limits: { maxItems: 50 },
        submit: () => Promise.reject(new Error('nobody calls')),
      }),
    ],
  });
  const item = (id: string, country: string) => ({ id, payload: { country, n: 1 } });
  first = (await client.submitBatch('orders', 'po-1', [item('a', 'se'), item('b', 'se')])).batch;
  await client.submitBatch('orders', 'po-1', [item('c', 'se')]);
  await client.submitBatch('orders', 'po-2', [item('d', 'no')], { dependsOn: [first] });
});
afterAll(async () => {
  await client.close();
  await world.close();
});

test('lanes: depth, age, state and share of each', async () => {
  const [json, text, page] = await Promise.all([
    world.run('lanes --json'),
    world.run('lanes'),
    world.run('lanes --waiting --after po-1 --json'),
  ]);
  expect(json.json()).toMatchObject([
    { service: 'po-1', depth: 2, queued: 0, state: 'free', weight: 1, share: 0, approach: 'serial' },
    { service: 'po-2', depth: 1, state: 'waiting for dependency' },
  ]);
  expect(text.stdout).toMatch(/po-1 .*free/);
  expect(page.json()).toMatchObject([{ service: 'po-2' }]);
});

test('lanes --older-than: only those whose oldest work is that old; none of them is said so', async () => {
  await world.database.pool.query("update batch set created_at = clock() - interval '1 hour' where id = $1", [first]);
  const [old, older] = await Promise.all([
    world.run('lanes --older-than 1h --json'),
    world.run('lanes --older-than 2h'),
  ]);
  expect(old.json<{ service: string }[]>().map(({ service }) => service)).toEqual(['po-1']);
  expect(older.stdout).toBe('No such lanes.\n');
});

test('lane: its batches and what each waits for; explain says the same of a task', async () => {
  const [lane, text, explained] = await Promise.all([
    world.run('lane po-1 --json'),
    world.run('lane po-2'),
    world.run('explain c --json'),
  ]);
  expect(lane.json<{ batches: object[] }>().batches).toMatchObject([
    { batch: first, place: 1, n: 2, attempts: 0 },
    { place: 2 },
  ]);
  expect(text.stdout).toMatch(new RegExp(`depends on batch ${first}`));
  expect(text.stdout).toMatch(/^batch \d+ \(1 item, not sent yet\): /m);
  expect(explained.json()).toMatchObject({ waitsFor: 'lane', text: expect.stringMatching(/second in lane po-1/) });
});

test('batch --receipts: what is known of each item', async () => {
  const [json, text] = await Promise.all([
    world.run(`batch ${first} --receipts --json`),
    world.run(`batch ${first} --receipts`),
  ]);
  expect(json.json()).toEqual(['a', 'b'].map((id) => ({ id, receipt: null, state: 'batched', message: null })));
  expect(text.stdout).toMatch(/item.*receipt.*state.*message.*data/);
});

test('pause, resume, weight; the queuer: slots, strategy, pause', async () => {
  expect((await world.run("lane pause po-1 --reason 'stock-taking' --json")).json()).toEqual({
    service: 'po-1',
    paused: true,
    reason: 'stock-taking',
  });
  expect((await world.run('lane po-1')).stdout).toMatch(/paused.*stock-taking/);
  expect((await world.run('lane resume po-1')).stdout).toMatch(/resumed lane po-1/);
  expect((await world.run('lane weight po-1 3')).stdout).toMatch(/weight 3/);
  expect((await world.run('queuer --slots 8 --strategy per-service --pause moving --json')).json()).toMatchObject([
    { slots: 8, strategy: 'per-service', paused: true, reason: 'moving', lanes: 2 },
  ]);
  expect((await world.run('queuer --resume')).stdout).toMatch(/0 of 8 .*per-service/);
});

test('a halted lane: skip and fix', async () => {
  await world.database.pool.query(`update batch set state = 5, error = 'no', finished_at = clock() where id = $1`, [
    first,
  ]);
  await world.database.pool.query(`update lane_batch set status = 11 where batch_id = $1`, [first]);
  await world.database.pool.query(
    `update lane_state set halted_by = $1, halted_at = clock(), halt_reason = 'invalid: no' where lane_id = (select lane_id from lane_batch where batch_id = $1)`,
    [first],
  );
  expect((await world.run('lane po-1')).stdout).toMatch(/halted.*invalid: no/);
  expect(await world.run('lane fix po-1')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/--applied, --again and --file/),
  });
  expect((await world.run('lane fix po-1 --again')).stderr).toMatch(/a batch with an unknown outcome.*invalid/s);
  world.write('fixed.ndjson', [{ id: 'e', payload: { country: 'se', n: 2 } }]);
  for (const verb of ['skip po-1', 'fix po-1 --again', 'fix po-1 --file fixed.ndjson'])
    expect(await world.run(`lane ${verb} --batch ${first + 1}`)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(`expected the one that halts lane "po-1", which is ${first} now, got ${first + 1}`),
    });
  const fixed = (await world.run(`lane fix po-1 --file fixed.ndjson --batch ${first} --json`)).json<{
    batch: number;
  }>();
  expect((await world.run('lane po-1 --json')).json()).toMatchObject({
    state: 'free',
    batches: [{ batch: fixed.batch, place: 1 }, { place: 2 }],
  });
  expect(await world.run('lane skip po-1')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/expected a halted lane/),
  });
});

test.each([
  ['lane pause nobody', 1, /Service "nobody" not found/],
  ['lane lost nobody', 1, /Service "nobody" not found/],
  ['lane lost po-1 --after-batch 999999', 2, /afterBatch: expected a batch of lane po-1, got 999999/],
  ['lane nobody', 1, /Service "nobody" not found/],
  ['lane weight po-1 0', 2, /whole number from 1 to 10000/],
  ['lane weight po-1 -- -3', 2, /whole number from 1 to 10000/],
  ['lanes --older-than soon', 2, /--older-than.*Expected a duration such as 500ms/],
  ['queuer --slots 0', 2, /whole number from 1 to 1000/],
  ['queuer --strategy fastest', 2, /single, per-service, one-round, multi-round/],
])('refused: %s', async (args, code, message) => {
  expect(await world.run(args)).toMatchObject({ code, stderr: expect.stringMatching(message) });
});

test('cancel: a batch of a lane with its tasks, and why another one is not; its tasks by name [G9]', async () => {
  const items = ['f', 'g'].map((id) => ({ id, payload: { country: 'fi', n: 1 } }));
  const { batch } = await client.submitBatch('orders', 'po-3', items);
  const part = await world.run('cancel f');
  expect(part.code).toBe(1);
  expect(part.stdout).toMatch(new RegExp(`not f: batched, in batch ${batch} of lane po-3 with 1 task not named here`));
  expect((await world.run(`cancel --batch ${batch}`)).stdout).toMatch(
    new RegExp(`cancelled batch ${batch} of lane po-3: 2 tasks`),
  );
  expect((await world.run(`cancel --batch ${batch} --json`)).json()).toEqual({ batch, service: 'po-3', tasks: [] });
  expect((await world.run('lane po-3 --json')).json()).toMatchObject({ depth: 0, state: 'empty' });
  expect((await world.run('explain f')).stdout).toMatch(/Cancelled before it reached the downstream/);
  expect(await world.run(`cancel --batch ${first}`)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/\(invalid\) cannot be cancelled: the downstream refused it permanently/),
  });
  expect(await world.run('cancel')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/either task ids or --batch/),
  });
});

test('what back pressure left is shown by lanes and queuer [H5]', async () => {
  const { batch } = await client.submitBatch('orders', 'po-4', [{ id: 'h', payload: { country: 'dk', n: 1 } }]);
  await world.database.pool.query(`update handler set allowed = 2 where name = 'orders'`);
  expect((await world.run('lanes --after po-3')).stdout).toMatch(/po-4 .*back pressure: 2 calls at once/);
  expect((await world.run('queuer')).stdout).toMatch(/back pressure: orders 2 of 8 calls/);
  expect((await world.run('queuer --json')).json()).toMatchObject([
    { held: 0, reduced: [{ handler: 'orders', calls: 2, of: 8 }] },
  ]);
  await world.database.pool.query('update handler set allowed = null');
  await client.cancelBatch(batch);
});
