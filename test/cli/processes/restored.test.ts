import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { IDEMPOTENCY_KEY_LENGTH } from '../../../handlers/contract';
import { createDatabase } from '../../helpers/database';
import type { TestDatabase } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import type { Receiver } from '../../services/notifier/receiver';
import { SECRET, startReceiver } from '../../services/notifier/receiver';
import type { CliProcess } from '../process';
import type { World } from '../world';
import { createWorld } from '../world';

/**
 * After a restored backup the numbers of batches and messages come again. What a downstream or a
 * receiver remembers them by does not, and is the same in every process that sends it.
 *
 * @full
 */

const CONFIG = `
import { defineHandler } from 'temporal-muster';
const call = async (batch, { idempotencyKey: key, callbackUrl, signal }) => {
  const ids = batch.tasks.map(({ id }) => id);
  const body = JSON.stringify({ by: process.pid, batch: Number(batch.id), to: batch.target, ids, key, callbackUrl });
  return (await (await fetch(process.env['KEYS_URL'], { method: 'POST', body, signal })).json());
};
const handler = (name, more) => defineHandler({
  name, target: ({ to }) => to, limits: { maxItems: 10 }, linger: { lingerMs: 20 }, timeoutMs: 5_000, retry: { inPlace: { baseMs: 100 } },
  submit: call, ...more,
});
const idempotency = { by: 'batch' };
const service = (target) => target;
export default { handlers: [
    handler('orders', { idempotency }), handler('edits', { idempotency, service }), handler('found', { reconcile: call }) ],
  callbacks: { allow: ['127.0.0.1:*'], secret: { env: 'WEBHOOK_SECRET' } } };
`;

const KEY = new RegExp(`^[a-z0-9-]{1,${IDEMPOTENCY_KEY_LENGTH}}$`);

interface Call {
  /** Process id of the worker. */
  by: number;
  batch: number;
  to: string;
  ids: string[];
  key: string;
  callbackUrl: string;
}
type Answer = (call: Call, times: number) => object | null;
const oks = (ids: readonly string[]) => ({ results: ids.map((id) => ({ id, status: 'ok' })) });

let world: World;
let restored: TestDatabase;
let receiver: Receiver;
let downstream: Server;
const calls: Call[] = [];
/** What the downstream answers, by target; null: nothing, the call hangs. */
const answers: Record<string, Answer> = {
  accepted: ({ batch, to }) => ({ status: 'accepted', reference: `${to}-${batch}-${calls.length}` }),
  hanging: ({ ids }, times) => (times === 1 ? null : oks(ids)),
  partly: ({ ids }, times) => (times === 1 ? oks(ids.slice(0, 1)) : { status: 'done', ...oks(ids) }),
};
const of = (to: string): Call[] => calls.filter((call) => call.to === to);
const call = (to: string, n = 1): Promise<Call> =>
  eventually(() => of(to)[n - 1], { what: () => `call ${n} of ${to}, there were ${JSON.stringify(calls)}` });

beforeAll(async () => {
  downstream = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => {
      const one = JSON.parse(body) as Call;
      calls.push(one);
      const answer = (answers[one.to] ?? (({ ids }) => oks(ids)))(one, of(one.to).length);
      if (answer !== null) response.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => downstream.listen(0, '127.0.0.1', resolve));
  receiver = await startReceiver();
  world = await createWorld();
  restored = await createDatabase({ copyOf: world.database });
  world.write('muster.config.ts', `// @ts-nocheck\n${CONFIG}`);
  Object.assign(world.env, {
    KEYS_URL: `http://127.0.0.1:${(downstream.address() as AddressInfo).port}/`,
    WEBHOOK_SECRET: SECRET,
    MUSTER_CALLBACK_SECRET: 'a-secret-of-the-test-that-is-long-enough',
  });
});
afterAll(async () => {
  await world.close();
  await restored.drop();
  await receiver.close();
  downstream.closeAllConnections();
  await new Promise((resolve) => downstream.close(resolve));
});

const worker = (): Promise<CliProcess> => world.worker('--callback-port 0');
const submit = async (handler: string, to: string, ids: readonly string[]): Promise<void> => {
  const callback = { url: receiver.url };
  const lines = ids.map((id) => JSON.stringify({ id, payload: { to }, ...(to === 'told' ? { callback } : {}) }));
  const { code, stderr } = await world.run(`submit ${handler} --file -`, lines.join('\n'));
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
};

/** Submits the same things to a store, and waits until all of it has left Muster. */
const use = async (store: string): Promise<void> => {
  const messages = receiver.received.length;
  for (const [handler, to] of [
    ['orders', 'told'],
    ['orders', 'accepted'],
    ['edits', 'lane'],
  ] as const) {
    const n = of(to).length;
    await submit(handler, to, [`${store}-${to}`]);
    await call(to, n + 1);
  }
  await eventually(() => receiver.received.length > messages, { what: 'a message' });
};
const isOpen = async (id: string): Promise<boolean> =>
  (await world.run(`task ${id} --json`)).json()['state'] === 'in-progress';

test('in a restored store the same numbers have other keys, callback URLs and message ids', async () => {
  let running = await worker();
  await use('lost');
  running.child.kill('SIGTERM');
  await running.exit;

  world.env['MUSTER_DATABASE_URL'] = restored.url;
  running = await worker();
  await use('kept');
  for (const to of ['told', 'accepted', 'lane']) {
    const [before, after] = of(to);
    expect(after!.batch).toBe(before!.batch);
    expect(after!.key).not.toBe(before!.key);
    for (const { key } of [before!, after!]) expect(key).toMatch(KEY);
  }
  const [before, after] = receiver.received.map(({ headers }) => headers['webhook-id']);
  expect(after).not.toBe(before);

  // The downstream of before tells what became of a batch that the store does not have.
  const { pathname } = new URL(of('accepted')[0]!.callbackUrl);
  const late = await fetch(new URL(pathname, of('accepted')[1]!.callbackUrl), {
    method: 'POST',
    body: JSON.stringify({ status: 'failed', error: 'of the batch before' }),
  });
  expect([late.status, await isOpen('kept-accepted')]).toEqual([404, true]);
  const told = await fetch(of('accepted')[1]!.callbackUrl, {
    method: 'POST',
    body: JSON.stringify(oks(['kept-accepted'])),
  });
  expect([told.status, await isOpen('kept-accepted')]).toEqual([200, false]);
  running.child.kill('SIGTERM');
  await running.exit;
});

test('the retry by another process has the same key, as has the part whose outcome is unknown', async () => {
  const killed = await worker();
  await submit('orders', 'hanging', ['hanging']);
  await call('hanging');
  killed.child.kill('SIGKILL');
  await killed.exit;
  const running = await worker();
  const [lost, retry] = [of('hanging')[0]!, await call('hanging', 2)];
  expect([retry.key, retry.by === lost.by]).toEqual([lost.key, false]);

  await submit('found', 'partly', ['partly-1', 'partly-2']);
  const [whole, part] = [await call('partly'), await call('partly', 2)];
  expect([whole.ids, part.ids, part.batch === whole.batch]).toEqual([['partly-1', 'partly-2'], ['partly-2'], false]);
  expect(part.key).toBe(whole.key);
  expect((await world.run(`batch ${part.batch} --json`)).json()).toMatchObject({ idempotencyKey: whole.key });
  expect((await world.run('verify --full')).code).toBe(0);
  running.child.kill('SIGTERM');
  await running.exit;
});
