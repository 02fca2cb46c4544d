import type { AddressInfo, Server } from 'node:net';
import { createServer } from 'node:http';
import { httpHandler } from '../../../handlers';
import { eventually } from '../../helpers/eventually';
import { freePort } from '../../helpers/machine/freePort';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { expectWhole } from '../../helpers/whole';

/** Nothing was written to a downstream that cannot be reached: its batch waits until it can be. */

interface Waiting {
  id: number;
  counted: number;
  state: number;
  error: string;
  refusals: number;
}
const unreachable = (name: string, url: string) =>
  httpHandler({
    kind: 'http',
    name,
    target: 'to',
    limits: { maxItems: 8 },
    linger: { lingerMs: 50 },
    idempotency: { by: 'batch' },
    retry: { inPlace: { times: 2, baseMs: 20 }, delayed: { baseMs: 20, maxMs: 200 }, maxAttempts: 2 },
    request: { url, item: { id: '{{id}}' } },
    response: { perItem: false },
  });

let port: number;
let muster: TestMuster;
beforeAll(async () => {
  port = await freePort();
  muster = await startMuster([
    unreachable('closed', `http://127.0.0.1:${port}/batch`),
    // Reserved by RFC 2606: no resolver knows it.
    unreachable('unnamed', 'http://downstream.invalid/batch'),
  ]);
});
afterAll(() => muster.stop());

const refused = async (handler: string): Promise<Waiting> => {
  const { rows } = await muster.database.pool.query<Waiting>({
    text: `select b.id, b.counted, b.state, b.error, b.refusals
           from batch b
           join target t on t.id = b.target_id
           join handler h on h.id = t.handler_id
           where h.name = $1`,
    values: [handler],
  });
  expect(rows.length).toBeLessThanOrEqual(1);
  return rows[0] ?? { id: 0, counted: 0, state: 0, error: '', refusals: 0 };
};
const refusedAtLeast = (handler: string, times: number): Promise<Waiting> =>
  eventually(async () => ((batch) => batch.refusals >= times && batch)(await refused(handler)), {
    what: async () => `${times} refusals: ${JSON.stringify(await refused(handler))}`,
  });
const tasksOf = (handler: string) => [0, 1].map((n) => ({ id: `${handler}-${n}`, payload: { to: 'x' } }));

/** Keys of the calls that arrive at what listens on that port from now on. */
const listen = async (keys: (string | undefined)[]): Promise<Server> => {
  const server = createServer((request, response) => {
    keys.push(request.headers['idempotency-key'] as string | undefined);
    request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  expect((server.address() as AddressInfo).port).toBe(port);
  return server;
};

test('refused before it was written (ECONNREFUSED): the same batch goes when the port opens, with one attempt', async () => {
  const tasks = tasksOf('closed');
  await muster.client.submit('closed', tasks);
  const waiting = await refusedAtLeast('closed', 3); // more often than it may be attempted
  expect(waiting).toMatchObject({ counted: 0, state: 1 });
  expect(waiting.error).toMatch(/ECONNREFUSED/);
  const keys: (string | undefined)[] = [];
  const server = await listen(keys);
  try {
    const ended = await muster.client.waitFor(
      tasks.map(({ id }) => id),
      { timeoutMs: 30_000 },
    );
    expect(ended.map(({ state, attempts }) => [state, attempts])).toEqual(tasks.map(() => ['succeeded', 1]));
    expect((await refused('closed')).id).toBe(waiting.id);
    expect(keys).toEqual([expect.stringMatching(new RegExp(`^muster-[0-9a-f]{12}-${waiting.id}-\\d+$`))]);
  } finally {
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  }
  await expectWhole(muster.client);
});

test('a host whose name does not resolve is a refusal, too: the batch waits, and no attempt is counted', async () => {
  await muster.client.submit('unnamed', tasksOf('unnamed'));
  const waiting = await refusedAtLeast('unnamed', 3);
  expect(waiting).toMatchObject({ counted: 0, state: 1 });
  expect(waiting.error).toMatch(/ENOTFOUND|EAI_AGAIN/);
});
