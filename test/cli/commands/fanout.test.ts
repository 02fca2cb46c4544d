import { readFileSync } from 'node:fs';
import type { World } from '../world';
import { createWorld } from '../world';

/** Fan-outs on the command line. No worker: only who asked to be told would need one. */

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

test('open, add, seal, ack, get, watch: one completion, told by the last ack', async () => {
  const opened = await world.run('fanout open --user-key import-17 --segment-size 100');
  const id = opened.stdout.trim();
  expect(id).toMatch(UUID);
  const added = await world.run(`fanout add ${id} 250 --ids`);
  const ids = added.stdout.trim().split('\n');
  expect([ids.length, ids[0], ids[249]]).toEqual([250, `${id}:0:0`, `${id}:2:49`]);
  const [single, sealed] = [
    await world.run(`fanout ack ${ids[7]} ${ids[8]}`),
    await world.run(`fanout seal ${id} --json`),
  ];
  expect(single).toMatchObject({ code: 0, stdout: 'acked 2 items\n' });
  expect(sealed.json()).toEqual({ fanout: id, state: 'sealed', items: 250, completed: null });
  const watching = world.start(`fanout watch ${id} --timeout 60s --json`);
  const get = await world.run(`fanout get ${id}`);
  expect(get.stdout).toMatch(
    /user key\s+import-17\n.*state\s+sealed\n.*items\s+250\n.*not acked\s+248\n.*3, 3 open, of 100 items at most/s,
  );
  const file = world.write('ids.txt', `${ids.join('\n')}\n`);
  const all = await world.run(`fanout ack --file ${file} --per-call 50 --json`);
  expect(all.json()).toEqual({
    items: 250,
    acked: 248,
    completed: [{ id, userKey: 'import-17', items: 250, completedAt: expect.any(String) }],
  });
  expect(await watching.exit).toBe(0);
  expect(JSON.parse(watching.stdout())).toMatchObject({ id, state: 'complete', open: 0 });
  const again = await world.run('fanout ack -', readFileSync(file, 'utf8'));
  expect(again.stdout).toBe('acked 0 items, 250 had been acked before\n');
});

test('add with a key may be repeated; --json gives ranges, with --ids the ids before them', async () => {
  const { id } = (await world.run('fanout open --json')).json<{ id: string }>();
  const add = () => world.run(`fanout add ${id} 3 --key part-1 --ids --json`);
  const [first, second] = [await add(), await add()];
  const lines = first.stdout
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
  expect(lines).toEqual([
    `${id}:0:0`,
    `${id}:0:1`,
    `${id}:0:2`,
    { fanout: id, items: 3, ranges: [{ first: 0, items: 3, segmentSize: 512 }] },
  ]);
  expect(second.stdout).toBe(first.stdout);
  expect((await world.run(`fanout get ${id} --json`)).json()).toMatchObject({ items: 3, state: 'open' });
});

test('what cannot be: exit codes and words', async () => {
  const { id } = (await world.run('fanout open --json')).json<{ id: string }>();
  const nobody = '0190f6a0-0000-4000-8000-000000000001';
  const [malformed, segment, none, unknown, size, both] = await Promise.all([
    world.run('fanout ack nonsense --json'),
    world.run(`fanout ack ${id}:4:0`),
    world.run('fanout ack'),
    world.run(`fanout get ${nobody}`),
    world.run('fanout open --segment-size 8001'),
    world.run('fanout open --notify-url https://a.example --notify-workflow w'),
  ]);
  expect([malformed, segment, none, unknown, size, both].map(({ code }) => code)).toEqual([2, 2, 2, 1, 2, 2]);
  expect(malformed.json()).toMatchObject({
    error: { code: 'INVALID_ITEM', problems: [{ id: 'nonsense', code: 'MALFORMED_ID' }] },
  });
  expect(segment.stderr).toContain(`fan-out ${id} has no segment 4`);
  await world.run(`fanout seal ${id}`);
  expect(await world.run(`fanout add ${id} 1`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('expected an open fan-out, got complete'),
  });
  const { id: sealed } = (await world.run('fanout open --json')).json<{ id: string }>();
  await world.run(`fanout add ${sealed} 1`);
  expect(await world.run(`fanout watch ${sealed} --timeout 200ms`)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('It continues'),
  });
});

test('--help has examples and --json', async () => {
  const names = ['', 'add', 'ack'];
  for (const { code, stdout } of await Promise.all(names.map((name) => world.run(`fanout ${name} --help`)))) {
    expect(code).toBe(0);
    expect(stdout).toMatch(/Examples:\n {2}\$ /);
    expect(stdout).toContain('--json');
  }
});
