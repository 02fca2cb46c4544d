import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createClient } from '../../../client';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase, temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import type { SlotProcess } from './slotProcess';
import { slotHandler } from './slotProcess';

/**
 * H5: the limit of calls in flight through kills in the middle of the work; what the dead held
 * comes back, and everything ends.
 *
 * @full
 */

const PER_HANDLER = 4;
const TASKS = 240;
let inFlight = 0;
let most = 0;
let downstream: Server;
let database: TestDatabase;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  downstream = createServer((request, response) => {
    most = Math.max(most, ++inFlight);
    response.on('close', () => inFlight--);
    request.resume();
    setTimeout(() => response.end(), 100);
  });
  await new Promise<void>((resolve) => downstream.listen(0, '127.0.0.1', resolve));
  database = await createDatabase({ max: 4 });
});
afterAll(async () => {
  for (const child of children) await end(child, 'SIGKILL');
  downstream.closeAllConnections();
  await new Promise((resolve) => downstream.close(resolve));
  await database.drop();
});

const start = (settings: SlotProcess): ChildProcess => {
  const script = path.join(__dirname, '..', '..', '..', 'dist', 'test', 'workflows', 'slots', 'slotProcess.js');
  const child = fork(script, [JSON.stringify(settings)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  children.add(child);
  return child;
};
const end = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  const exited = once(child, 'exit');
  if (child.exitCode !== null || child.signalCode !== null || !child.kill(signal)) return;
  await exited;
};

test('workers are killed in the middle of their calls: never more than the limit at once, and all ends [H5]', async () => {
  const { port } = downstream.address() as AddressInfo;
  const of = { url: `http://127.0.0.1:${port}/`, leaders: 6, perHandler: PER_HANDLER };
  const prefix = `t-${randomBytes(5).toString('hex')}`;
  const settings: SlotProcess = { databaseUrl: database.url, address: temporalAddress(), prefix, ...of };
  const client = createClient({
    databaseUrl: database.url,
    handlers: [slotHandler(of)],
    prefix,
    temporal: { address: temporalAddress() },
  });
  const succeeded = async (): Promise<number> => (await client.status('orders'))[0]!.counts.succeeded;
  try {
    await client.submit(
      'orders',
      Array.from({ length: TASKS }, (_, i) => ({ id: `o-${i}`, payload: { to: `t${i % 40}` } })),
    );
    const workers = [start(settings), start(settings)];
    for (const [i, share] of [0.2, 0.5].entries()) {
      await eventually(async () => (await succeeded()) > share * TASKS && inFlight > 0, { everyMs: 100 });
      await end(workers.shift()!, 'SIGKILL');
      if (i === 0) workers.push(start(settings)); // the last one goes on alone
    }
    await eventually(async () => (await succeeded()) === TASKS, {
      timeoutMs: 120_000,
      everyMs: 200,
      what: async () => `${TASKS} tasks to succeed; ${JSON.stringify((await client.status('orders'))[0]!.counts)}`,
    });
    expect(most).toBe(PER_HANDLER);
    for (const worker of workers) await end(worker, 'SIGTERM');
  } finally {
    await client.close();
  }
});
