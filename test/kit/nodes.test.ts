import type { HandlerOptions } from '../../handlers';
import { defineHandler } from '../../handlers';
import { simulate } from '../../workers/testing';

/** Affinity in a world without servers: which node calls a target's batches. */

interface Order {
  customer: string;
}

const orders = (options: Partial<HandlerOptions<Order>> = {}) =>
  defineHandler<Order>({
    name: 'orders',
    target: ({ customer }) => customer,
    limits: { maxItems: 10 },
    linger: { lingerMs: 0 },
    affinity: { partitions: 4 },
    submit: async ({ tasks }) => ({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
    ...options,
  });
const CUSTOMERS = ['ada', 'bo', 'cy', 'di', 'ed', 'flo'];
const order = (id: string, customer: string) => ({ id, payload: { customer } });
const ofAll = (no: number) => CUSTOMERS.map((customer) => order(`${customer}-${no}`, customer));
type AnyWorld = ReturnType<typeof simulate<Order>>;
const nodesOf = (world: AnyWorld): Record<string, string | null> =>
  Object.fromEntries(world.calls.map(({ target, node }) => [target, node]));

test('partitions are spread over the nodes, and each call says its node and partition', async () => {
  const world = simulate(orders(), { nodes: ['blue', 'green'] });
  await world.submit(ofAll(1));
  expect(world.nodes.list().map(({ partitions }) => partitions.length)).toEqual([2, 2]);
  for (const { target, node, partition } of world.calls) {
    expect(world.nodes.of(target)).toBe(node);
    expect(world.nodes.list().find(({ id }) => id === node)?.partitions).toContain(partition?.id);
    expect(partition?.epoch).toBe(1);
  }
  expect(new Set(Object.values(nodesOf(world)))).toEqual(new Set(['blue', 'green']));
});

test('a node that leaves hands its targets over at once; those of a killed one wait for its lease', async () => {
  const world = simulate(orders(), { nodes: ['blue', 'green'] });
  await world.submit(ofAll(1));
  const before = nodesOf(world);
  const [ofGreen] = Object.entries(before).find(([, node]) => node === 'green')!;
  await world.nodes.kill('green');
  await world.submit(ofAll(2));
  expect(world.task(`${ofGreen}-2`)).toMatchObject({ state: 'created' });
  expect(world.nodes.list()).toMatchObject([{ state: 'live' }, { state: 'killed' }]);
  await world.advance('9s');
  expect(world.task(`${ofGreen}-2`)).toMatchObject({ state: 'created' });
  await world.advance('1s');
  expect(world.task(`${ofGreen}-2`)).toMatchObject({ state: 'succeeded', endedAtMs: 10_000 });
  expect(world.calls.at(-1)).toMatchObject({ node: 'blue', partition: { epoch: 2 } });

  await world.nodes.join('red');
  await world.nodes.leave('blue');
  await world.submit(ofAll(3));
  expect(new Set(Object.values(nodesOf(world)))).toEqual(new Set(['red']));
  expect(world.task(`${ofGreen}-3`)).toMatchObject({ endedAtMs: 10_000 });
});

test('a node that joins gets its share after a while, and a drained one gives up its own', async () => {
  const world = simulate(orders(), { nodes: ['blue'] });
  await world.submit(ofAll(1));
  await world.nodes.join('green');
  expect(world.nodes.list().map(({ partitions }) => partitions.length)).toEqual([4, 0]);
  await world.advance('6s');
  expect(world.nodes.list().map(({ partitions }) => partitions.length)).toEqual([2, 2]);
  await world.nodes.drain('blue');
  expect(world.nodes.list()).toMatchObject([
    { state: 'draining', partitions: [] },
    { state: 'live', partitions: { length: 4 } },
  ]);
});

test('without a node that is able nothing goes, until one joins', async () => {
  const world = simulate(orders({ affinity: { partitions: 2, attributes: { zone: 'eu' } } }), { nodes: [] });
  await world.submit(ofAll(1));
  await world.nodes.join('us-1', { zone: 'us' });
  await world.advance('1 hour');
  expect([world.calls, world.nodes.of('ada')]).toEqual([[], null]);
  await world.nodes.join('eu-1', { zone: 'eu' });
  expect(new Set(Object.values(nodesOf(world)))).toEqual(new Set(['eu-1']));
});

test('lanes are in partitions, too, and keep their order across nodes', async () => {
  const world = simulate(orders({ service: (customer) => customer, lane: {} }), { nodes: ['blue', 'green'] });
  for (const no of [1, 2]) for (const task of ofAll(no)) await world.submitBatch(task.payload.customer, [task]);
  const [ofGreen] = Object.entries(nodesOf(world)).find(([, node]) => node === 'green')!;
  await world.nodes.kill('green');
  await world.submitBatch(ofGreen, [order('late', ofGreen)]);
  expect(world.lanes.get(ofGreen)).toMatchObject({ batches: [{ status: 'unsubmitted', tasks: ['late'] }] });
  await world.advance('10s');
  expect(world.calls.at(-1)).toMatchObject({ atMs: 10_000, node: 'blue', service: ofGreen, tasks: [{ id: 'late' }] });
});

test('a checkpoint is read by the next holder', async () => {
  const read: unknown[] = [];
  const world = simulate(
    orders({
      affinity: { partitions: 1 },
      submit: async ({ tasks }, { partition }) => {
        read.push((await partition!.lastCheckpoint())?.value ?? null);
        await partition!.checkpoint({ upTo: tasks.at(-1)!.id });
        return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
      },
    }),
    { nodes: ['blue', 'green'] },
  );
  await world.submit(order('a', 'ada'));
  await world.nodes.leave(world.calls[0]!.node!);
  await world.submit(order('b', 'ada'));
  expect(read).toEqual([null, { upTo: 'a' }]);
  expect(world.calls.map(({ partition }) => partition)).toEqual([
    { id: 'orders/0', epoch: 1 },
    { id: 'orders/0', epoch: 2 },
  ]);
});

test('nodes that are named must be there', async () => {
  const world = simulate(orders(), { nodes: ['blue'] });
  await expect(world.nodes.kill('green')).rejects.toThrow('Cannot find the node: expected one of blue, got "green".');
  await expect(world.nodes.join('blue')).rejects.toThrow('Cannot join a node: expected an id that no node has');
});
