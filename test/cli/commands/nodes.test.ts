import { eventually } from '../../helpers/eventually';
import type { World } from '../world';
import { CONFIG, createWorld } from '../world';

/**
 * Nodes and partitions on the command line (B5, B10), with a worker process of its own and a config
 * file.
 *
 * @slow
 */

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

test('nothing there yet: what to do is said', async () => {
  const [nodes, partitions, json] = await Promise.all([
    world.run('nodes'),
    world.run('partitions'),
    world.run('partitions --json'),
  ]);
  expect(nodes.stdout).toMatch(/No nodes: start one with `muster worker`/);
  expect(partitions.stdout).toMatch(/No partitions: give a handler `affinity: 'partition'`/);
  expect(json.json()).toEqual([]);
});

interface Seen {
  partition: string;
  holder: string | null;
  pinnedTo: string | null;
}

test('nodes, partitions, explain; drain and move, and their undoing [B5]', async () => {
  const config = CONFIG.replace(
    '...settings,',
    "...settings, ...(name === 'slow' ? { affinity: { partitions: 3 } } : {}),",
  ).replace(
    'export default handlers;',
    "export default handlers;\nexport const nodes = { leaseMs: 3_000, shutdownLimitMs: 1_500, minimumHoldMs: 0, attributes: { zone: 'eu' } };",
  );
  world.write('muster.config.ts', config);
  world.env['MUSTER_NODE_NAME'] = 'green';
  await world.worker();
  delete world.env['MUSTER_NODE_NAME'];
  const held = await eventually(async () => {
    const list = (await world.run('partitions slow --json')).json<Seen[]>();
    return list.length === 3 && list.every(({ holder }) => holder !== null) ? list : null;
  });
  const id = held[0]!.holder!;
  const [nodes, text, partitions, json] = await Promise.all([
    world.run('nodes --json'),
    world.run('nodes'),
    world.run('partitions'),
    world.run('partitions --json'),
  ]);
  expect(nodes.json()).toMatchObject([
    { id, name: 'green', attributes: { zone: 'eu' }, alive: true, drained: false, partitions: 3, inFlight: 0 },
  ]);
  expect(text.stdout).toMatch(/green .* up .* 3 .*zone=eu/);
  expect(partitions.stdout).toMatch(/slow\/2 .*green .*held .*20\d\d-.*Z/);
  expect(json.json()).toMatchObject([
    {
      partition: 'slow/0',
      handler: 'slow',
      no: 0,
      state: 'held',
      epoch: 1,
      processing: [],
      lastMove: { why: expect.any(String) },
    },
    {},
    {},
  ]);

  world.write('one.ndjson', [{ id: 'w-1', payload: { country: 'se', n: 1 } }]);
  await world.run('submit slow --file one.ndjson');
  expect((await world.run('explain w-1')).stdout).toMatch(
    /\("green"\) serves it: it has held partition slow\/\d under epoch 1/,
  );
  expect((await world.run('explain w-1 --json')).json()).toMatchObject({
    servedBy: { node: id, name: 'green', epoch: 1 },
  });

  expect((await world.run('partition move slow/1 green')).stdout).toMatch(/slow\/1 moves to green/);
  expect((await world.run('partitions slow')).stdout).toMatch(/slow\/1 .*pinned to green/);
  expect((await world.run('partition move slow/1 --anywhere --json')).json()).toEqual({
    partition: 'slow/1',
    pinnedTo: null,
  });
  expect((await world.run('node drain green --json')).json()).toEqual({ nodes: [id], drained: true });
  expect((await world.run('nodes')).stdout).toMatch(/green .*drained/);
  expect((await world.run(`node drain ${id} --undo`)).stdout).toMatch(/\(1 process\) is eligible for partitions again/);
});

test.each([
  ['node drain nobody', 1, /expected the id or the name of a node .*green.*got "nobody"/],
  ['partition move slow/9 green', 1, /handler "slow" has partitions 0 to 2/],
  ['partition move slow/1 nobody', 1, /got "nobody".*see `muster nodes`/],
  ['partition move orders/1 green', 2, /expected a handler with affinity, got "orders"/],
  ['partition move slow/1', 2, /expected a node or --anywhere, got neither/],
  ['partition move slow/1 green --anywhere', 2, /got both/],
  ['partition move slow green', 2, /"<handler>\/<number>", got "slow"/],
  ['partitions nobody', 1, /Handler "nobody" not found/],
])('refused: %s', async (args, code, message) => {
  expect(await world.run(args)).toMatchObject({ code, stderr: expect.stringMatching(message) });
});

test.each(['nodes', 'node', 'node drain', 'partitions', 'partition', 'partition move'])(
  '%s --help has examples',
  async (name) => {
    const { code, stdout } = await world.run(`${name} --help`);
    expect({ code, examples: stdout.includes(`Examples:\n  $ muster ${name.split(' ')[0]}`) }).toEqual({
      code: 0,
      examples: true,
    });
  },
);
