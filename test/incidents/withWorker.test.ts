import { eventually } from '../helpers/eventually';
import type { IncidentWorld, Signs } from './world';
import { act, ends, expectOver, expectSeen, ok, openIncidents } from './world';

/**
 * What goes wrong while a worker runs: seen, explained and ended through the HTTP API alone.
 *
 * @slow
 */

let world: IncidentWorld;
beforeAll(async () => {
  world = await openIncidents();
  await world.worker();
});
afterAll(() => world.stop());
beforeEach(() => world.quiet());

test('a revoked credential: the handler pauses itself, and goes on when it is resumed', async () => {
  world.answer('orders', () => ({ status: 401 }));
  await world.submit('orders', 'a', 'credential');
  const signs: Signs = {
    alert: ['MusterPaused', { handler: 'orders' }],
    finding: /^orders is paused: 1 task waiting\. Reason: .*401: the key was revoked/,
    explain: ['credential', /paused.*401: the key was revoked/],
  };
  await expectSeen(world, signs);
  world.answer('orders', ok);
  await act(world, 'POST /v1/handlers/orders/resume');
  await ends(world, 'credential', 'succeeded');
  await expectOver(world, signs);
});

test('a paused target that was forgotten', async () => {
  await world.submit('orders', 'forgotten', 'first');
  await ends(world, 'first', 'succeeded');
  await act(world, 'POST /v1/handlers/orders/targets/forgotten/pause', { reason: 'moving' });
  await world.submit('orders', 'forgotten', 'waits');
  const signs: Signs = {
    alert: ['MusterTargetsPaused', { handler: 'orders' }],
    finding: /^orders: 1 target paused/,
    explain: ['waits', /paused.*moving/],
  };
  await expectSeen(world, signs);
  await act(world, 'POST /v1/handlers/orders/targets/forgotten/resume');
  await ends(world, 'waits', 'succeeded');
  await expectOver(world, signs);
});

test('poison: tasks that the downstream refuses for good are redriven once it takes them', async () => {
  world.answer('orders', (tasks) => ({
    status: 200,
    body: tasks.map(({ id }) => ({ id, status: 'failed', error: 'no such customer' })),
  }));
  const ids = Array.from({ length: 11 }, (_, i) => `poison-${i}`);
  await world.submit('orders', 'poison', ...ids);
  const signs: Signs = {
    alert: ['MusterTasksDie', { handler: 'orders' }],
    finding: /^orders: 11 tasks failed/,
    explain: ['poison-0', /failed.*no such customer/],
  };
  await expectSeen(world, signs);
  const { errors } = (await world.call('GET /v1/errors?handler=orders')).body as { errors: { count: number }[] };
  expect(errors).toEqual([expect.objectContaining({ count: 11 })]);
  world.answer('orders', ok);
  await act(world, 'POST /v1/handlers/orders/redrive', { only: 'failed' });
  await ends(world, 'poison-10', 'succeeded');
  await expectOver(world, signs);
});

test('an answer that was lost: the tasks are parked until an operator has looked downstream', async () => {
  world.answer('orders', () => 'lost');
  await world.submit('orders', 'lost', 'lost');
  const signs: Signs = {
    alert: ['MusterUnknownTasks', { handler: 'orders' }],
    finding: /^orders: 1 task parked/,
    explain: ['lost', /resolve/],
  };
  await expectSeen(world, signs);
  world.answer('orders', ok);
  await act(world, 'POST /v1/tasks:resolve', { ids: ['lost'], as: 'succeeded' });
  await ends(world, 'lost', 'succeeded');
  await expectOver(world, signs);
});

test('a lane that halts at a batch of unknown outcome', async () => {
  world.answer('ledger', () => 'lost');
  await world.submit('ledger', 's', 'head');
  await eventually(async () => /halted/.test(JSON.stringify((await world.call('GET /v1/lanes/s')).body)), {
    timeoutMs: 60_000,
  });
  await world.submit('ledger', 's', 'behind');
  const signs: Signs = {
    alert: ['MusterLaneHalted', {}],
    finding: /^1 lane halted/,
    explain: ['behind', /halted/],
  };
  await expectSeen(world, signs);
  world.answer('ledger', ok);
  await act(world, 'POST /v1/lanes/s/fix', { as: 'applied' });
  await ends(world, 'behind', 'succeeded');
  await expectOver(world, signs);
});

test('a paused lane that was forgotten', async () => {
  await act(world, 'POST /v1/lanes/s/pause', { reason: 'the ledger moves' });
  await world.submit('ledger', 's', 'in-lane');
  const signs: Signs = {
    alert: ['MusterLanesPaused', {}],
    finding: /^1 lane paused/,
    explain: ['in-lane', /paused.*the ledger moves/],
  };
  await expectSeen(world, signs);
  await act(world, 'POST /v1/lanes/s/resume');
  await ends(world, 'in-lane', 'succeeded');
  await expectOver(world, signs);
});

test('all lanes are paused', async () => {
  await act(world, 'POST /v1/queuers/pause', { reason: 'closing of the books' });
  await world.submit('ledger', 's', 'all-lanes');
  const signs: Signs = {
    alert: ['MusterLanesPaused', {}],
    finding: /^The only lane is paused\. Reason: closing of the books/,
    explain: ['all-lanes', /paused.*closing of the books/],
  };
  await expectSeen(world, signs);
  await act(world, 'POST /v1/queuers/resume');
  await ends(world, 'all-lanes', 'succeeded');
  await expectOver(world, signs);
});

test('a downstream that refuses for now: its tasks wait, and go on by themselves', async () => {
  world.answer('orders', () => ({ status: 429 }));
  await world.submit('orders', 'limited', 'limited');
  const signs: Signs = {
    alert: ['MusterRefused', { handler: 'orders' }],
    finding: /^orders: 1 task to be tried again\. The last error: .*too many requests/,
    explain: ['limited', /too many requests/],
  };
  await expectSeen(world, signs);
  world.answer('orders', ok);
  await ends(world, 'limited', 'succeeded');
  await expectOver(world, signs);
});

test('a backlog that is full: submits are refused with 429', async () => {
  await world.submit('narrow', 'n', 'n1', 'n2', 'n3');
  const refused = await world.call('POST /v1/handlers/narrow/tasks', {
    body: { tasks: [{ id: 'n4', payload: { to: 'n' } }] },
  });
  expect([refused.status, refused.body.code]).toEqual([429, 'BACKLOGGED']);
  const signs: Signs = {
    alert: ['MusterBacklogFull', { handler: 'narrow' }],
    finding: /^narrow takes no more tasks: 3 wait, and 3 may/,
    explain: ['n1', /linger/],
  };
  await expectSeen(world, signs);
  await act(world, 'POST /v1/handlers/narrow/flush');
  await ends(world, 'n3', 'succeeded');
  await expectOver(world, signs);
});

test('partitions that no node can hold', async () => {
  await world.submit('placed', 'p', 'placed');
  const signs: Signs = {
    alert: ['MusterPartitionsFree', { handler: 'placed' }],
    finding: /^placed: 2 of 2 partitions have no node/,
    explain: ['placed', /partition/],
  };
  await expectSeen(world, signs);
  const node = await world.worker({ ZONE: 'eu' });
  await ends(world, 'placed', 'succeeded');
  await expectOver(world, signs);
  node.child.kill('SIGTERM');
  expect(await node.exit).toBe(0);
});

test('a task that waits for another one, which failed for good', async () => {
  world.answer('orders', (tasks) => ({
    status: 200,
    body: tasks.map(({ id }) => ({ id, status: id === 'needed' ? 'failed' : 'ok', error: 'no stock' })),
  }));
  await act(world, 'POST /v1/handlers/orders/tasks', {
    tasks: [
      { id: 'needed', payload: { to: 'stock' } },
      ...Array.from({ length: 10 }, (_, i) => ({ id: `needs-${i}`, payload: { to: 'd' }, dependsOn: ['needed'] })),
    ],
  });
  const signs: Signs = {
    alert: ['MusterTasksDie', { handler: 'orders' }],
    finding: /^orders: 11 tasks failed/,
    explain: ['needs-0', /needed/],
  };
  await expectSeen(world, signs);
  world.answer('orders', ok);
  await act(world, 'POST /v1/handlers/orders/redrive', { only: 'failed' });
  await ends(world, 'needs-9', 'succeeded');
  await expectOver(world, signs);
});
