import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { eventually } from '../helpers/eventually';
import type { World } from '../cli/world';
import { CONFIG, createWorld, order } from '../cli/world';

/**
 * Hooks of a config file, in real processes: a worker that is killed in them, and the API.
 *
 * @full
 */

const HOOKS = `
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { TaskRefusedError } from 'temporal-muster';
/** Dies in the first call of this hook. */
const dieOnce = (hook: string) => {
  if (process.env['DIE_IN'] !== hook || existsSync('died-in-' + hook)) return;
  writeFileSync('died-in-' + hook, '');
  process.kill(process.pid, 'SIGKILL');
};
const told = (line: string) => appendFileSync('told.txt', line + '\\n');
export const hooks = {
  taskAccepted: ({ tasks }: { tasks: readonly { id: string }[] }) => {
    if (tasks.some(({ id }) => id.startsWith('never'))) throw new TaskRefusedError('never is refused here');
  },
  beforeCall: () => dieOnce('beforeCall'),
  taskEnded: async ({ tasks }: { tasks: readonly { id: string; state: string }[] }) => {
    dieOnce('taskEnded');
    await setTimeout(500);
    for (const { id, state } of tasks) told(id + ' ' + state);
  },
};
`;

let world: World;
beforeEach(async () => {
  world = await createWorld();
  world.write('muster.config.ts', CONFIG + HOOKS);
});
afterEach(() => world.close());
const told = (): string[] => {
  const file = path.join(world.folder, 'told.txt');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
};
const diesIn = async (hook: string): Promise<void> => {
  const worker = world.start('worker', { DIE_IN: hook });
  await worker.says(/"msg":"ready"/);
  await world.submit('orders', order('first', 'se'));
  expect(await worker.exit).toBe('SIGKILL');
};

test('killed between the commit of an end and taskEnded: the task has ended, and no process is ever told', async () => {
  await diesIn('taskEnded');
  expect((await world.run('task first --json')).stdout).toMatch(/"state":\s*"succeeded"/);
  const next = await world.worker();
  await world.ended('orders', order('second', 'se'));
  await eventually(() => told().length > 0);
  next.child.kill('SIGTERM');
  expect(await next.exit).toBe(0);
  expect(told()).toEqual(['second succeeded']);
});

test('killed in beforeCall: nothing was marked, so the task is called once, and is not parked', async () => {
  await diesIn('beforeCall');
  await world.worker();
  await world.ended('orders', order('second', 'se'));
  await eventually(() => told().includes('first succeeded'));
  const { rows } = await world.database.pool.query('select attempt, counted, unsure from batch order by id');
  expect(rows[0]).toEqual({ attempt: 1, counted: 1, unsure: false });
  expect(world.downstream.calls.flatMap(({ ids }) => ids).filter((id) => id === 'first')).toHaveLength(1);
});

test('a stop waits for hooks that run', async () => {
  const worker = await world.worker();
  await world.ended('orders', order('first', 'se'));
  worker.child.kill('SIGTERM');
  expect(await worker.exit).toBe(0);
  expect(told()).toEqual(['first succeeded']);
});

test('taskAccepted of the config file refuses over the API and on the command line', async () => {
  const api = world.start('api --open --port 0 --json');
  await api.says(/"ready":true.*\n/);
  const { url } = JSON.parse(api.stdout()) as { url: string };
  const post = (id: string): Promise<Response> =>
    fetch(`${url}/v1/handlers/orders/tasks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ tasks: [order(id, 'se')] }),
    });
  const refused = await post('never-1');
  expect(await refused.json()).toMatchObject({ status: 422, code: 'TASK_REFUSED', detail: 'never is refused here' });
  expect((await post('ever-1')).ok).toBe(true);
  const file = world.write('tasks.ndjson', [order('never-2', 'se')]);
  const { code, stderr } = await world.run(`submit orders --file ${file}`);
  expect(code).not.toBe(0);
  expect(stderr).toContain('never is refused here');
  expect((await world.database.pool.query('select id from task')).rows).toEqual([{ id: 'ever-1' }]);
});
