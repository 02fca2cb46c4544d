import { setTimeout as sleep } from 'node:timers/promises';
import { registerRecipient } from '../../../postgres/callbacks/recipient';
import { insertNotifications } from '../../../postgres/calls/records';
import { notifierWorkflowId } from '../../../workflows/naming';
import { NOTIFIER_RUN } from '../../../workflows/planning/looks';
import { Requests } from '../../../workflows/temporal/requests';
import { wakeNotifier } from '../../../workflows/wake';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import type { Receiver } from './receiver';
import { SECRET, startReceiver } from './receiver';

/**
 * Processes tell the notifier to look more often than it can continue as new between two of their
 * signals: callbacks go on meanwhile.
 *
 * @slow
 */

const SIGNALS_PER_S = 60;
const FOR_MS = 15_000;

let muster: TestMuster;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  muster = await startMuster([], { callbacks: { allow: ['127.0.0.1:*'], secret: SECRET } });
});
afterAll(async () => {
  await muster.stop();
  await receiver.close();
});

test('told to look sixty times a second, it delivers all the time, in runs of bounded length', async () => {
  const { pool } = muster.database;
  const temporal = await muster.client.temporal();
  const requests = new Requests(temporal);
  const recipient = await registerRecipient(pool, 'webhook', { url: receiver.url });
  const at: number[] = [];
  // One message is never taken: the runs have something to wait for, and do not end by themselves.
  receiver.answer = (response, _n, { path }) => {
    if (path === '/never') return void response.writeHead(503).end();
    at.push(performance.now());
    response.writeHead(204).end();
  };
  const never = await registerRecipient(pool, 'webhook', { url: `${receiver.url}/never` });
  let going = true;
  const repeat = async (everyMs: number, work: (n: number) => Promise<unknown>): Promise<void> => {
    for (let n = 0; going; n++) {
      await work(n);
      await sleep(everyMs);
    }
  };
  const wake = (): Promise<unknown> => wakeNotifier(requests, muster.prefix);
  const begun = performance.now();
  const floods = Array.from({ length: 6 }, () => repeat(6_000 / SIGNALS_PER_S, wake));
  const write = (id: number, n: number): Promise<unknown> => {
    const body = { handler: 'h', target: 't', batch: null, tasks: [{ id: `task-${n}`, state: 'succeeded' }] };
    return insertNotifications(pool, [{ batch_id: null, attempt: null, recipient_id: id, body }]);
  };
  await write(never, -1);
  const writes = repeat(500, (n) => write(recipient, n));
  await sleep(FOR_MS);
  going = false;
  await Promise.all([...floods, writes]);
  const all = [begun, ...at, begun + FOR_MS];
  const gaps = all.slice(1).map((one, i) => one - all[i]!);
  expect(Math.max(...gaps)).toBeLessThan(5_000);
  const lengths: number[] = [];
  const query = `WorkflowId = '${notifierWorkflowId(muster.prefix)}' and ExecutionStatus = 'ContinuedAsNew'`;
  for await (const { historyLength } of temporal.workflow.list({ query })) lengths.push(historyLength);
  expect(lengths.length).toBeGreaterThan(1);
  expect(Math.max(...lengths)).toBeLessThan(2 * NOTIFIER_RUN.mostEvents);
});
