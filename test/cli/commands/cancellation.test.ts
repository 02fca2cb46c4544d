import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '../../helpers/eventually';
import type { World } from '../world';
import { createWorld } from '../world';

/**
 * `cancelUrl`, called by workers in processes of their own, of which one is killed in the middle of
 * the call.
 *
 * @slow
 */

const cancels: string[] = [];
const held: ServerResponse[] = [];
const statuses = new Map<string, string>();
/** What becomes of a cancel call; left out: held until the test ends. */
let answer: ((reference: string) => { status: number; body: object }) | undefined;
let server: Server;
let world: World;

beforeAll(async () => {
  server = createServer((request, response) => {
    const send = (status: number, body: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const [, , reference = '', what] = request.url!.split('/');
    request.resume().once('end', () => {
      if (request.method === 'GET') return send(200, { state: statuses.get(reference) ?? 'pending', items: [] });
      if (what !== 'cancel')
        return send(202, { id: `job-${statuses.set(`job-${statuses.size}`, 'pending').size - 1}` });
      cancels.push(reference);
      if (answer === undefined) return void held.push(response);
      const { status, body } = answer(reference);
      return send(status, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jobs`;
  world = await createWorld();
  const follow = { url: `${url}/{{reference}}` };
  const handler = {
    kind: 'http',
    name: 'jobs',
    target: 'to',
    limits: { maxItems: 50 },
    linger: { lingerMs: 20 },
    timeoutMs: 1_500,
    request: { url },
    accepted: { reference: 'id' },
    response: { results: 'items', matchBy: 'id', status: { path: 'status' } },
    statusUrl: { ...follow, status: 'state' },
    resultsUrl: follow,
    cancelUrl: { url: `${follow.url}/cancel` },
    poll: { everyMs: 200, deadlineMs: 600_000 },
  };
  world.write(
    'muster.config.ts',
    `import { httpHandler } from 'temporal-muster';\nexport default [httpHandler(${JSON.stringify(handler)})];\n`,
  );
});
afterAll(async () => {
  for (const response of held) response.destroy();
  await world.close();
  await new Promise((resolve) => server.close(resolve));
});

/** The number of the batch of one task, once the downstream has accepted it. */
const accepted = async (id: string): Promise<{ batch: number; reference: string }> => {
  const submitted = await world.run('submit jobs --file -', JSON.stringify({ id, payload: { to: id } }));
  expect(submitted.code).toBe(0);
  return eventually(async () => {
    const { rows } = await world.database.pool.query<{ batch: number; reference: string }>(
      `select b.id as batch, b.reference from task k join member m using (seq) join batch b on b.id = m.batch_id
       where k.id = $1 and b.reference is not null`,
      [id],
    );
    return rows[0];
  });
};

const one = async (text: string, value: unknown): Promise<Record<string, unknown> | undefined> =>
  (await world.database.pool.query<Record<string, unknown>>(text, [value])).rows[0];

test('killed in the call that cancels: the next process asks again, and what it answers is kept', async () => {
  const first = await world.worker();
  const { batch, reference } = await accepted('killed');
  const asked = await world.run(`cancel --batch ${batch} --json`);
  expect(asked.json()).toEqual({ batch, service: null, tasks: [], cancellation: 'requested' });
  await eventually(() => cancels.length === 1);
  first.child.kill('SIGKILL');
  await first.exit;
  expect((await world.run(`batch ${batch} --json`)).json()).toMatchObject({
    cancellation: { state: 'requested', tries: 1, cause: 'caller' },
  });
  answer = () => ({ status: 200, body: {} });
  const killedAt = performance.now();
  const second = await world.worker();
  await eventually(() => cancels.length >= 2);
  // Its lease (the call's timeout and 5 s) and the start of a process; without a retry it would be
  // without end.
  expect(performance.now() - killedAt).toBeLessThan(60_000);
  expect(new Set(cancels)).toEqual(new Set([reference]));
  statuses.set(reference, 'expired');
  await eventually(async () => (await world.run('task killed --json')).json()['state'] === 'cancelled', {
    everyMs: 500,
  });
  const view = (await world.run(`batch ${batch} --json`)).json();
  expect(view).toMatchObject({ state: 'dissolved', cancellation: { state: 'confirmed', error: null } });
  const shown = (await world.run(`batch ${batch}`)).stdout;
  expect(shown).toMatch(/cancellation +.*confirmed.*caller/);

  // In one world, since a process takes seconds: what HTTP statuses say.
  for (const [status, state] of [
    [409, 'late'],
    [405, 'refused'],
  ] as const) {
    answer = () => ({ status, body: { error: `no ${status}` } });
    const other = await accepted(`http-${status}`);
    expect((await world.run(`cancel http-${status} --json`)).json()).toMatchObject({
      cancelled: [],
      notCancelled: [{ batch: other.batch }],
    });
    await eventually(
      async () => (await one('select ended_at from cancellation where batch_id = $1', other.batch))?.['ended_at'],
    );
    expect((await world.run(`batch ${other.batch} --json`)).json()).toMatchObject({ cancellation: { state } });
    expect((await world.run(`explain http-${status}`)).stdout).toMatch(
      status === 409 ? /came too late: HTTP 409/ : /refused to cancel it: HTTP 405/,
    );
  }
  second.child.kill('SIGTERM');
  await second.exit;
});
