import { OverdueWakes } from '../../../workers/sweeper/overdueWakes';
import type { Requests } from '../../../workflows/temporal/requests';
import { inTransaction } from '../../../postgres/pool';
import { insertNotifications } from '../../../postgres/calls/records';
import { registerRecipient } from '../../../postgres/callbacks/recipient';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

let database: TestDatabase;
beforeAll(async () => void (database = await createDatabase({ max: 5 })));
afterAll(() => database.drop());

test('a wake of the notifier that did not reach the server is soon repeated', async () => {
  const recipient_id = await registerRecipient(database.pool, 'webhook', { url: 'http://receiver/' });
  const body = { handler: 'h', target: 't', batch: null, tasks: [] };
  await inTransaction(database.pool, (tx) =>
    insertNotifications(tx, [{ batch_id: null, attempt: null, recipient_id, body }]),
  );
  await database.pool.query(`update notification set next_at = clock() - interval '1 minute'`);
  const requests = { send: () => Promise.reject(new Error('away')) } as unknown as Requests;
  const counts = { notifierWakes: 0, monitorWakes: 0 };
  const silent = { noteNotifier: () => undefined, noteMonitors: () => undefined };
  const options = { pool: database.pool, requests, prefix: 'away', log: { warn: () => undefined } };
  const wakes = new OverdueWakes(options, silent, counts);
  await wakes.wakeNotifier();
  await wakes.wakeNotifier();
  expect(counts.notifierWakes).toBe(1);
  // One that reached the server, and did not help, would be repeated after 10 s.
  await eventually(
    async () => {
      await wakes.wakeNotifier();
      return counts.notifierWakes === 2;
    },
    { timeoutMs: 6_000, what: 'the second wake' },
  );
});
