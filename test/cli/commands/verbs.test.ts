import type { CliProcess } from '../process';
import type { World } from '../world';
import { createWorld, order } from '../world';

/** @slow */

let world: World;
let worker: CliProcess;
beforeAll(async () => {
  world = await createWorld();
  worker = await world.worker();
});
afterAll(async () => {
  worker.child.kill('SIGTERM');
  await worker.exit;
  await world.close();
});

test('what lingers is shown, explained, and sent by flush; flushing nothing is no error [G6 G13]', async () => {
  await world.submit('slow', order('linger-1', 'se'), order('linger-2', 'se'), order('linger-3', 'no'));
  const [targets, explained, status] = await Promise.all([
    world.run('targets slow --json'),
    world.run('explain linger-1 --json'),
    world.run('status slow --json'),
  ]);
  expect(targets.json()).toEqual([
    expect.objectContaining({ key: 'no', queued: 1, paused: null }),
    expect.objectContaining({ key: 'se', queued: 2, paused: null }),
  ]);
  expect(explained.json()).toMatchObject({
    id: 'linger-1',
    state: 'created',
    waitsFor: 'linger',
    text: expect.stringMatching(/linger/i),
  });
  expect(status.json()).toEqual([
    expect.objectContaining({
      handler: 'slow',
      accepted: 3,
      identityHolds: true,
      counts: expect.objectContaining({ created: 3 }),
    }),
  ]);
  const flushed = await world.run('flush slow se --json');
  expect(flushed.json()).toEqual({ targets: 1, tasks: 2 });
  await world.ended('slow', order('linger-1', 'se'), order('linger-2', 'se'));
  const task = (await world.run('task linger-1 --json')).json<{ state: string; batch: number }>();
  expect(task).toMatchObject({ state: 'succeeded', result: { double: 2 } });
  const batch = await world.run(`batch ${task.batch} --json`);
  expect(batch.json()).toMatchObject({ reason: 'manual', n: 2, members: [{ id: 'linger-1' }, { id: 'linger-2' }] });
  const nothing = await world.run('flush slow se');
  expect(nothing).toMatchObject({ code: 0, stdout: 'nothing to flush\n' });
});

test('pause keeps tasks back and says why, resume lets them go [Build 7]', async () => {
  expect((await world.run("pause orders --reason 'the shop moves' --json")).json()).toMatchObject({
    paused: true,
    reason: 'the shop moves',
  });
  await world.submit('orders', order('paused-1', 'dk'));
  const [status, explained] = await Promise.all([world.run('status'), world.run('explain paused-1')]);
  expect(status.stdout).toMatch(/orders .*paused: the shop moves/);
  expect(explained.stdout).toMatch(/paused.*the shop moves/i);
  expect((await world.run('resume orders --json')).json()).toEqual({ handler: 'orders', target: null, paused: false });
  await world.ended('orders', order('paused-1', 'dk'));
  expect((await world.run("pause orders dk --reason 'only Denmark moves' --json")).json()).toMatchObject({
    target: 'dk',
    reason: 'only Denmark moves',
  });
  expect((await world.run('targets orders')).stdout).toMatch(/dk .*paused: only Denmark moves/);
  expect((await world.run('resume orders dk')).code).toBe(0);
});

test('cancel of what waits; what is not cancelled is named, with exit code 1 [G9]', async () => {
  await world.submit('slow', order('cancel-1', 'fi'));
  const result = await world.run('cancel cancel-1 linger-1 nobody --json');
  expect(result.code).toBe(1);
  expect(result.json()).toEqual({
    cancelled: ['cancel-1'],
    notCancelled: [
      { id: 'linger-1', state: 'succeeded' },
      { id: 'nobody', state: 'unknown id' },
    ],
  });
});

test('set gives a target its own linger; --reset takes it back [G5]', async () => {
  await world.submit('slow', order('own-1', 'is'));
  const set = await world.run('set slow is --linger-ms 50 --max-items 7 --json');
  expect(set.json()).toEqual({ handler: 'slow', target: 'is', overrides: { lingerMs: 50, maxItems: 7 } });
  await world.ended('slow', order('own-1', 'is'));
  expect((await world.run('targets slow --after fi --limit 1 --json')).json()).toEqual([
    expect.objectContaining({ key: 'is', overrides: { lingerMs: 50, maxItems: 7 } }),
  ]);
  expect((await world.run('set slow is --reset')).stdout).toBe("target is of slow: uses the handler's settings\n");
});

test('a failed task is redriven; an unknown one is resolved by hand [G9 G11]', async () => {
  await world.ended('orders', order('redo', 'de', 1, 'failed'), order('lost', 'fr', 1, 'lost'));
  expect((await world.run('redrive orders --only failed --target de --json')).json()).toEqual({ redriven: 1 });
  const { state, batch } = (await world.run('task lost --json')).json<{ state: string; batch: number }>();
  expect(state).toBe('unknown');
  expect((await world.run(`resolve --batch ${batch} --as succeeded --json`)).json()).toEqual({ resolved: 1 });
  expect((await world.run('task lost --json')).json()).toMatchObject({ state: 'succeeded' });
  const again = await world.run('resolve --task lost --as failed');
  expect(again.code).toBe(1);
  expect(again.stderr).toMatch(/expected state unknown.*got succeeded/);
});

test('tasks lists those in a state, by target or error, page by page, or only their ids', async () => {
  const ids = Array.from({ length: 5 }, (_, i) => `many-${i}`);
  await world.submit('slow', ...ids.map((id) => order(id, 'pt')));
  const list = (args: string) => world.run(`tasks ${args}`);
  const text = await list('slow pt --state created --limit 3');
  expect(text.stdout).toMatch(/many-0 .*pt[^]*many-2/);
  const after = /Showing 3; for more: --after (\S+)\n$/.exec(text.stdout)![1]!;
  expect((await list(`slow pt --state created --ids --after ${after}`)).stdout).toBe('many-3\nmany-4\n');
  await world.ended('orders', order('worse', 'es', -1, 'failed'));
  const failed = (await list('orders es --state failed --error such --json')).json<{
    tasks: object[];
    next: unknown;
  }>();
  expect(failed).toEqual({
    tasks: [expect.objectContaining({ id: 'worse', target: 'es', state: 'failed' })],
    next: null,
  });
  expect((await list('slow pt --state created --order newest --limit 2 --ids')).stdout).toBe('many-4\nmany-3\n');
  expect((await list('slow pt --state created --order oldest --limit 2 --ids')).stdout).toBe('many-0\nmany-1\n');
  const expiresAt = '2099-01-01T00:00:00.000Z';
  await world.submit('slow', { ...order('tagged', 'fi'), tags: ['red', 'of-pt'], metadata: { by: 'me' }, expiresAt });
  expect((await list('--tag red')).stdout).toMatch(/state.*expires.*[^]*tagged .* fi .* created .* 2099-01-01/);
  expect((await list('slow --tag of-pt --state created --ids')).stdout).toBe('tagged\n');
  expect((await list('slow --tag red --state dead')).stdout).toBe('No such tasks.\n');
  expect((await world.run('task tagged')).stdout).toMatch(/tags +.*red.*\n[^]*metadata +.*"by"/);
  expect((await world.run('bulk cancel slow --tag red --yes --dry-run')).stdout).toMatch(/^1 task/);
  expect((await world.run('explain tagged')).stdout).toContain(`It expires at ${expiresAt} if it has not been sent`);
  expect((await list('orders --state dead')).stdout).toBe('No such tasks.\n');
  expect(await list('orders --state lost')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/Allowed choices are created/),
  });
  expect(await list('orders')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/--state: expected a state, or --tag/),
  });
  expect(await list('orders --state dead --after x')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/after: expected/),
  });
});

test('verify: 0 when all holds; 1 and the rows when an invariant is violated [Build 7]', async () => {
  const good = await world.run('verify --json');
  expect(
    good.json<{ checks: { violations: object[] }[] }>().checks.filter(({ violations }) => violations.length > 0),
  ).toEqual([]);
  expect(good.code).toBe(0);
  const { pool } = world.database;
  await pool.query({ text: "delete from queue q using task t where t.seq = q.seq and t.id = 'linger-3'" });
  const bad = await world.run('verify');
  expect(bad.code).toBe(1);
  expect(bad.stdout).toMatch(/VIOLATED/);
  expect(bad.stdout).toContain('linger-3');
});

test('what is not there: exit code 1 and a message; a wrong argument: 2', async () => {
  const [task, batch, handler, target, both, none] = await Promise.all([
    world.run('task nobody --json'),
    world.run('batch 999999'),
    world.run('targets nohandler'),
    world.run('flush orders notarget'),
    world.run('resolve --batch 1 --task a --as created'),
    world.run('set slow is'),
  ]);
  expect(task.json()).toMatchObject({ error: { code: 'NOT_FOUND', message: expect.stringContaining('"nobody"') } });
  expect([task, batch, handler, target, both, none].map(({ code }) => code)).toEqual([1, 1, 1, 1, 2, 2]);
  expect(batch.stderr).toMatch(/^Error: Batch "?999999/);
  expect(handler.stderr).toContain('nohandler');
  expect(both.stderr).toContain('expected either --batch <n> or --task <id>, got both');
});
