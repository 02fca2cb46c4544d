import { randomUUID } from 'node:crypto';
import { eventually } from '../helpers/eventually';
import type { ApiHome, ApiProcess } from './child';
import { createHome } from './child';

/**
 * The API as a process: kills in the middle of POSTs with Idempotency-Key, orderly stops, the
 * command's own refusals.
 *
 * @full
 */

let home: ApiHome;
beforeAll(async () => {
  home = await createHome();
});
afterAll(() => home.close());

const KILLS = 4;
const PARALLELISM = 8;

interface Sent {
  key: string;
  kind: 'tasks' | 'fanout' | 'add' | 'execute';
  n: number;
  /** What a 2xx said, if one came. */
  told: string | null;
}

test('HTTP API: kill -9 in the middle of POSTs with a key: repeating never doubles, what was answered 2xx is there', async () => {
  let api: ApiProcess = await home.start();
  const port = new URL(api.url).port;
  const growing = (await api.call('POST /v1/fanouts', { body: {} })).body.id as string;
  const sent: Sent[] = [];
  let stopped = false;
  let lost = 0;
  const post = async (one: Sent): Promise<void> => {
    const route = {
      tasks: '/v1/handlers/slow/tasks',
      fanout: '/v1/fanouts',
      add: `/v1/fanouts/${growing}/items`,
      execute: '/v1/executions',
    }[one.kind];
    const body = {
      tasks: {
        tasks: Array.from({ length: 20 }, (_, i) => ({ id: `${one.key}-${i}`, payload: { country: 'se', n: one.n } })),
      },
      fanout: { userKey: one.key },
      add: { items: 10 },
      execute: { template: { function_id: 'f', method: 'm' }, arguments: [['a'], ['b']], topic: one.key },
    }[one.kind];
    // Until it is answered 2xx, as a caller does who wants it done.
    for (;;) {
      const answer = await api.call(`POST ${route}`, { body, key: one.key }).catch(() => null);
      if (answer === null || answer.status === 409 || answer.status === 503) {
        lost += answer === null ? 1 : 0;
        await new Promise((resolve) => setTimeout(resolve, 20));
        continue;
      }
      expect(answer.status).toBeLessThan(300);
      if (one.told !== null) expect(answer.text).toBe(one.told);
      one.told = answer.text;
      return;
    }
  };
  const kinds = ['tasks', 'fanout', 'add', 'execute'] as const;
  const runner = async (at: number): Promise<void> => {
    for (let n = 0; !stopped; n++) {
      const one: Sent = { key: randomUUID(), kind: kinds[(at + n) % 4]!, n, told: null };
      sent.push(one);
      await post(one);
    }
  };
  const runners = Array.from({ length: PARALLELISM }, (_, at) => runner(at));
  for (let kill = 0; kill < KILLS; kill++) {
    const before = sent.length;
    await eventually(() => sent.length > before + PARALLELISM);
    api.process.child.kill('SIGKILL');
    await api.process.exit;
    api = await home.start(`--port ${port} --open`);
  }
  stopped = true;
  await Promise.all(runners);
  expect(lost).toBeGreaterThan(0);
  for (const one of sent) await post(one); // the answer of each is the same as before
  const of = (kind: Sent['kind']): Sent[] => sent.filter((one) => one.kind === kind);
  const rows = async <T extends object>(text: string): Promise<T[]> => (await home.database.pool.query<T>(text)).rows;
  expect(await rows('select count(*) as n from task')).toEqual([{ n: of('tasks').length * 20 }]);
  expect(
    (await rows<{ key: string }>('select user_key as key from fanout where user_key is not null'))
      .map(({ key }) => key)
      .sort(),
  ).toEqual(
    of('fanout')
      .map(({ key }) => key)
      .sort(),
  );
  expect((await api.call(`GET /v1/fanouts/${growing}`)).body).toMatchObject({ items: of('add').length * 10 });
  expect(
    (await rows<{ topic: string }>('select topic from execution where state = 0')).map(({ topic }) => topic).sort(),
  ).toEqual(
    of('execute')
      .map(({ key }) => key)
      .sort(),
  );
  expect((await home.run('verify')).code).toBe(0);
  api.process.child.kill('SIGTERM');
  expect(await api.process.exit).toBe(0);
});

test('HTTP API: SIGTERM: a request under way is answered, a stream ends with a word, a new one finds nobody, exit code 0', async () => {
  const api = await home.start();
  const holder = await home.database.pool.connect();
  await holder.query('begin');
  await holder.query('lock table task in access exclusive mode');
  const held = api.call('POST /v1/handlers/orders/tasks', {
    body: { tasks: [{ id: 'held', payload: { country: 'se', n: 1 } }] },
  });
  await eventually(async () => {
    const { rows } = await home.database.pool.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'muster api'`,
    );
    return rows.length > 0;
  });
  api.process.child.kill('SIGTERM');
  await eventually(async () => (await fetch(`${api.url}/health/live`).catch(() => null)) === null);
  await holder.query('rollback');
  holder.release();
  expect(await held).toMatchObject({ status: 200, body: { accepted: 1 } });
  expect(await api.process.exit).toBe(0);
});

test('HTTP API: the commands: tokens are made, shown once, listed, revoked; the API refuses an open door and bad settings', async () => {
  expect(await home.run('api --open --host 0.0.0.0 --port 0')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--host: expected a loopback address'),
  });
  expect(await home.run('api --port x')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--port: expected a port'),
  });
  expect((await home.run('token create --name ci --scope all')).code).toBe(2);
  const made = (await home.run('token create --name ci --scope submit,read --json')).json<{
    token: string;
    id: number;
  }>();
  expect(made).toMatchObject({ token: expect.stringMatching(/^muster_[\w-]{43}$/), scopes: ['submit', 'read'] });
  const listed = await home.run('token list');
  expect(listed.stdout).toContain('submit, read');
  expect(listed.stdout).not.toContain(made.token.slice(7));
  const api = await home.start('--host 0.0.0.0 --port 0');
  const url = `http://127.0.0.1:${new URL(api.url).port}/v1/status`;
  const status = async (): Promise<number> =>
    (await fetch(url, { headers: { authorization: `Bearer ${made.token}` } })).status;
  expect([(await fetch(url)).status, await status()]).toEqual([401, 200]);
  expect((await home.run(`token revoke ${made.id}`)).stdout).toContain('is revoked');
  await eventually(async () => (await status()) === 401);
  expect((await home.run('token revoke 99')).code).toBe(1);
  api.process.child.kill('SIGTERM');
  expect(await api.process.exit).toBe(0);
  expect(api.process.stderr() + api.process.stdout()).not.toContain(made.token.slice(7));
});
