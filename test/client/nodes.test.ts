import { defineHandler } from '../../handlers';
import { createClient } from '../../client';
import { removeNode, touchNode } from '../../postgres/nodes/node';
import { hasLostPartitions, pinPartition } from '../../postgres/nodes/partition';
import { eventually } from '../helpers/eventually';
import type { Fleet, FleetNode } from '../nodes/fleet';
import { startFleet } from '../nodes/fleet';

/**
 * What a client sees of nodes and partitions, and what an operator does about them (B5, B10,
 * B13).
 */

interface Order {
  shop: string;
}
/** Calls of shop `slow` last until they are let go. */
let letGo: () => void = () => undefined;
let slow = new Promise<void>((resolve) => (letGo = resolve));
const orders = (name: string, attributes: Record<string, string> = {}) =>
  defineHandler<Order>({
    name,
    target: ({ shop }) => shop,
    limits: { maxItems: 5 },
    linger: { lingerMs: 50 },
    idempotency: { by: 'batch' },
    affinity: { partitions: 4, attributes },
    submit: async (batch) => {
      if (batch.target === 'slow') await slow;
      return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
    },
  });
const handlers = [orders('orders'), orders('far', { zone: 'moon' })];
const plain = defineHandler<Order>({
  name: 'plain',
  target: ({ shop }) => shop,
  limits: { maxItems: 5 },
  submit: () => Promise.reject(new Error('nobody calls')),
});

let fleet: Fleet;
let red: FleetNode;
let blue: FleetNode;
const ofOrders = () => fleet.client.partitions({ handler: 'orders' });
/** Until `orders` stands as asked; answers it. */
const standing = (as: (list: Awaited<ReturnType<typeof ofOrders>>) => boolean) =>
  eventually(async () => {
    const list = await ofOrders();
    return as(list) ? list : null;
  });
beforeAll(async () => {
  fleet = await startFleet([...handlers, plain]);
  red = await fleet.join([...handlers, plain], { name: 'red', attributes: { zone: 'eu' } });
  await standing((list) => list.length === 4 && list.every(({ holder }) => holder === red.id));
  blue = await fleet.join(handlers, { name: 'blue' });
  await standing((list) => list.filter(({ holder }) => holder === blue.id).length === 2);
});
afterAll(async () => {
  letGo();
  await fleet.stop();
});

test('nodes: who there is, what each serves and holds', async () => {
  const list = await fleet.client.nodes();
  expect(list).toMatchObject([
    {
      id: blue.id,
      name: 'blue',
      handlers: ['orders', 'far'],
      attributes: {},
      alive: true,
      draining: false,
      drained: false,
      partitions: 2,
      inFlight: 0,
      processing: 0,
    },
    { id: red.id, name: 'red', attributes: { zone: 'eu' }, partitions: 2 },
  ]);
  for (const { startedAt, seenMs } of list) {
    expect(new Date(startedAt).toISOString()).toBe(startedAt);
    expect(seenMs).toBeLessThan(30_000);
  }
});

test('partitions: holder, epoch, lease, last move and why; of one handler or of all; status counts them', async () => {
  const list = await standing((all) => all.every(({ state }) => state === 'held'));
  expect(list.map(({ partition }) => partition)).toEqual([0, 1, 2, 3].map((no) => `orders/${no}`));
  const moved = list.filter(({ holder }) => holder === blue.id);
  for (const one of moved)
    expect(one).toMatchObject({
      holderName: 'blue',
      epoch: 2,
      revokedMs: null,
      pinnedTo: null,
      processing: [],
      lastMove: { why: expect.any(String) },
    });
  for (const one of list) expect(one.leaseLeftMs).toBeGreaterThan(0);
  const all = await fleet.client.partitions();
  expect(all.filter(({ handler }) => handler === 'far').map(({ state, holder }) => [state, holder])).toEqual(
    [0, 1, 2, 3].map(() => ['free', null]),
  );
  const status = await fleet.client.status();
  expect(status.map(({ handler, partitions }) => [handler, partitions])).toEqual([
    ['far', { n: 4, held: 0 }],
    ['orders', { n: 4, held: 4 }],
    ['plain', null],
  ]);
});

test('explain: who serves a task, in which partition, under which epoch; or why no node does', async () => {
  const late = { notBefore: new Date(Date.now() + 3_600_000) };
  await fleet.client.submit('orders', { id: 'e-1', payload: { shop: 'lund' }, ...late });
  const explained = await fleet.client.explain('e-1');
  const { servedBy } = explained;
  const view = (await ofOrders()).find(({ partition }) => partition === servedBy!.partition)!;
  expect(servedBy).toMatchObject({ node: view.holder, name: view.holderName, epoch: view.epoch, why: null });
  expect(explained).toMatchObject({
    waitsFor: 'delay',
    text: expect.stringContaining(
      `("${view.holderName}") serves it: it has held partition ${view.partition} under epoch ${view.epoch} for`,
    ),
  });
  await fleet.client.submit('far', { id: 'e-2', payload: { shop: 'lund' } });
  const stuck = await eventually(async () => {
    const now = await fleet.client.explain('e-2');
    return now.waitsFor === 'partition' ? now : null;
  });
  expect(stuck).toMatchObject({
    servedBy: { node: null, why: 'no node is able' },
    text: expect.stringMatching(/no live node has handler "far" and the attributes zone=moon/),
  });
  await fleet.client.submit('plain', { id: 'e-3', payload: { shop: 'lund' }, ...late });
  expect((await fleet.client.explain('e-3')).servedBy).toBeUndefined();
});

test('who really processes and who won the claim are two facts [B5 B11]', async () => {
  await fleet.client.submit('orders', { id: 'slow-1', payload: { shop: 'slow' } });
  const [busy] = await standing((list) => list.some(({ processing }) => processing.length > 0)).then((list) =>
    list.filter(({ processing }) => processing.length > 0),
  );
  const [from, to] = busy!.holder === red.id ? [red, 'blue'] : [blue, 'red'];
  expect(busy!.processing).toMatchObject([{ node: from.id, calls: 1 }]);
  expect((await fleet.client.nodes()).find(({ id }) => id === from.id)).toMatchObject({ inFlight: 1, processing: 1 });
  await fleet.client.movePartition(busy!.partition, to);
  const asked = await standing((list) => list[busy!.no]!.state === 'revoked');
  expect(asked[busy!.no]).toMatchObject({ holder: from.id, wantedByName: to, pinnedTo: to });
  // After the shutdown limit the winner has it, and the loser is still at work.
  const won = await standing((list) => list[busy!.no]!.holderName === to);
  expect(won[busy!.no]).toMatchObject({ epoch: busy!.epoch + 1, processing: [{ node: from.id, calls: 1 }] });
  letGo();
  slow = new Promise<void>((resolve) => (letGo = resolve));
  letGo();
  expect(await fleet.client.waitFor('slow-1', { timeoutMs: 30_000 })).toMatchObject([{ state: 'succeeded' }]);
  await standing((list) => list[busy!.no]!.processing.length === 0);
  expect(await fleet.client.movePartition(`partition/${busy!.partition}`, null)).toEqual({
    partition: busy!.partition,
    pinnedTo: null,
  });
  expect((await standing((list) => list[busy!.no]!.pinnedTo === null)).length).toBe(4);
});

test('a drained node gives up what it has, and gets its share back after an undo [B10]', async () => {
  expect(await fleet.client.drainNode('blue')).toEqual({ nodes: [blue.id], drained: true });
  await standing((list) => list.every(({ holder }) => holder === red.id));
  expect((await fleet.client.nodes())[0]).toMatchObject({ name: 'blue', drained: true, alive: true, partitions: 0 });
  await expect(fleet.client.movePartition('orders/1', 'blue')).rejects.toMatchObject({
    code: 'INVALID_NODE',
    message: expect.stringMatching(/which is drained.*muster node drain blue --undo/),
  });
  expect(await fleet.client.drainNode(blue.id, { undo: true })).toEqual({ nodes: [blue.id], drained: false });
  // Also of one that is gone, and would be drained when it came again.
  const { pool } = fleet.database;
  await touchNode(pool, { id: 'gone', taskQueue: 'q', handlers: [], version: '1', draining: false });
  await fleet.client.drainNode('gone');
  await removeNode(pool, 'gone');
  expect(await fleet.client.drainNode('gone', { undo: true })).toEqual({ nodes: [], drained: false });
  await expect(fleet.client.drainNode('gone', { undo: true })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await standing((list) => list.filter(({ holder }) => holder === blue.id).length === 2);
});

test('a drain and a move while Temporal is away fail nothing: the sweeper tells the balancer later', async () => {
  const failures: Error[] = [];
  const apart = createClient({
    databaseUrl: fleet.database.url,
    prefix: fleet.prefix,
    temporal: { address: '127.0.0.1:1' },
    onRingFailure: (error) => failures.push(error),
  });
  try {
    const lost = () => hasLostPartitions(fleet.database.pool, 3_000, 2_500);
    expect(await lost()).toBe(false);
    await apart.drainNode('red');
    await standing((list) => list.every(({ holder }) => holder === blue.id));
    await apart.drainNode('red', { undo: true }); // evenness waits for the next wake
    await eventually(() => failures.length === 2); // the wakes are behind the verbs
    // The sweeper has just backed off: whether it would find this, too.
    await pinPartition(fleet.database.pool, 'partition/orders/1', 'red');
    await eventually(async () => (await lost()) || (await ofOrders())[1]!.holder === red.id || null);
    await fleet.client.movePartition('orders/1', null);
  } finally {
    await apart.close();
  }
});

const INVALID = { code: 'INVALID_ARGUMENT' };
test.each([
  [
    'drainNode',
    ['green'],
    'NOT_FOUND',
    () => new RegExp(`node: expected the id or the name of a node \\(.*${blue.id} \\(blue\\).*got "green"`),
  ],
  ['drainNode', [''], INVALID.code, () => /node: expected a non-empty string/],
  ['drainNode', ['red', { undo: 1 }], INVALID.code, () => /undo: expected true or false, got 1/],
  ['movePartition', ['orders/0', 'green'], 'NOT_FOUND', () => /expected the id or the name of a node .*got "green"/],
  [
    'movePartition',
    ['orders/4', 'red'],
    'NOT_FOUND',
    () => /partition: expected "<handler>\/<number>", got "orders\/4": handler "orders" has partitions 0 to 3/,
  ],
  ['movePartition', ['nobody/0', null], 'NOT_FOUND', () => /handler "nobody" does not exist/],
  [
    'movePartition',
    ['orders', 'red'],
    INVALID.code,
    () => /partition: expected a partition as "<handler>\/<number>", got "orders"/,
  ],
  [
    'movePartition',
    ['plain/0', 'red'],
    'INVALID_HANDLER',
    () => /handler: expected a handler with affinity, got "plain"/,
  ],
  [
    'movePartition',
    ['far/0', 'red'],
    'INVALID_NODE',
    () => /which lacks the attribute zone=moon \(it has \{"zone":"eu"\}\)/,
  ],
  ['partitions', [{ handler: 'plain' }], 'INVALID_HANDLER', () => /expected a handler with affinity/],
  ['partitions', [{ handler: 'nobody' }], 'NOT_FOUND', () => /Handler "nobody" not found/],
] as const)('refused: %s %j', async (verb, args, code, message) => {
  const call = fleet.client[verb] as (...all: unknown[]) => Promise<unknown>;
  await expect(call.apply(fleet.client, [...args])).rejects.toMatchObject({
    code,
    message: expect.stringMatching(message()),
  });
});
