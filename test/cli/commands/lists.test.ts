import { eventually } from '../../helpers/eventually';
import type { CliProcess } from '../process';
import type { World } from '../world';
import { createWorld, order } from '../world';

/** The commands that list what failed, what was sent and what is done now. @slow */

let world: World;
let worker: CliProcess;
beforeAll(async () => {
  world = await createWorld();
  worker = await world.worker();
  const callback = { url: 'https://hooks.example.com/x?secret=1' }; // allowed nowhere, so it is given up
  await world.ended('orders', { ...order('ok-1', 'se'), callback }, order('bad-1', 'se', 1, 'failed'));
});
afterAll(async () => {
  worker.child.kill('SIGTERM');
  await worker.exit;
  await world.close();
});

test('errors names the error with how many, and what lists them and sends them again', async () => {
  const { errors } = (await world.run('errors orders --json')).json<{
    errors: { list: string; again: string; of: string }[];
  }>();
  const failed = errors.find(({ of }) => of === 'failed')!;
  expect(failed).toMatchObject({ handler: 'orders', count: 1, tasks: ['bad-1'] });
  const text = (await world.run('errors')).stdout;
  expect(text).toContain('orders: 1 task failed');
  expect(text).toContain('muster bulk redrive orders --state failed --error-group ');
  // What it says to run runs, and finds the task.
  const listed = await world.run(`${failed.list.replace(/^muster /, '')} --json`);
  expect(listed.json<{ tasks: { id: string }[] }>().tasks.map(({ id }) => id)).toEqual(['bad-1']);
  const again = await world.run(`${failed.again.replace(/^muster /, '')} --dry-run --json`);
  expect(again.json()).toMatchObject({ count: 1, sample: [{ id: 'bad-1' }] });
  expect((await world.run('errors --since 1ms')).stdout).toMatch(/^No errors since /);
});

test('tasks lists those that ended within a time, before one, or between two', async () => {
  const listed = async (options: string): Promise<string> =>
    (await world.run(`tasks orders --state failed --ids ${options}`)).stdout.trim();
  expect(await listed('')).toBe('bad-1');
  expect(await listed('--since 1h')).toBe('bad-1');
  expect(await listed('--since 1ms')).toBe('');
  expect(await listed('--until 1h')).toBe('');
  expect(await listed('--until 1ms')).toBe('bad-1');
  expect(await listed('--since 1h --until 1ms')).toBe('bad-1');
});

test('tasks lists those that wait, and those with a tag, that were accepted within a time or before one', async () => {
  const later = { notBefore: '2099-01-01', tags: ['late'] };
  await world.submit('orders', { ...order('waits-1', 'se'), ...later }, { ...order('waits-2', 'dk'), ...later });
  const listed = async (options: string): Promise<string[]> =>
    (await world.run(`tasks orders --ids ${options}`)).stdout.split('\n').filter((id) => id !== '');
  expect(await listed('--state created --since 1h')).toEqual(['waits-2', 'waits-1']);
  expect(await listed('--state created --since 1h --until 1ms --order oldest')).toEqual(['waits-1', 'waits-2']);
  expect(await listed('--state created --until 1h')).toEqual([]);
  expect(await listed('--tag late --since 1h')).toEqual(['waits-2', 'waits-1']);
  expect(await listed('--tag late --since 1ms')).toEqual([]);
});

test('batches lists those of a handler or target, page by page', async () => {
  const all = (await world.run('batches orders --json')).json<{ batches: { id: number }[]; next: string | null }>();
  expect(all.batches.length).toBeGreaterThan(0);
  expect(all.next).toBe(null);
  expect((await world.run('batches orders se --limit 1')).stdout).toMatch(/succeeded/);
  expect((await world.run('batches orders --state dead')).stdout).toBe('No such batches.\n');
  expect((await world.run('batches orders none')).code).not.toBe(0);
});

test('callbacks lists those that did not arrive, and sends them again', async () => {
  const listed = async () =>
    (await world.run('callbacks --json')).json<{ callbacks: { id: number; attempts: number }[] }>().callbacks;
  const [one] = await eventually(async () => (await listed()).length > 0 && listed());
  const text = (await world.run('callbacks --handler orders --state given-up')).stdout;
  expect(text).toContain('https://hooks.example.com/x');
  expect(text).not.toContain('secret');
  expect((await world.run(`callbacks send ${one!.id} --json`)).json()).toEqual({ sent: 1 });
  expect((await world.run('callbacks send 999999')).stderr).toMatch(/Callback "999999" not found/);
  await eventually(async () => (await world.run('callbacks --state given-up --json')).stdout.includes('"attempts":1'));
  expect((await world.run('callbacks send --handler orders --limit 5')).stdout).toBe('1 callback due again\n');
});

test('top shows once what is done, where there is no terminal', async () => {
  const shown = await eventually(async () => {
    const { handlers } = (await world.run('top --json')).json<{
      handlers: { handler: string; callsPerS: number; endsPerMin: { failed: number } }[];
    }>();
    const orders = handlers.find(({ handler }) => handler === 'orders')!;
    return orders.callsPerS > 0 && orders;
  });
  expect(shown.endsPerMin.failed).toBeGreaterThan(0);
  for (const args of ['top', 'top --once'])
    expect((await world.run(args)).stdout).toMatch(/handler .*calls\/s[^]*orders/);
});
