import { Deliveries } from '../../../activities/callbacks/deliveries';
import { inTransaction } from '../../../postgres/pool';
import { insertNotifications } from '../../../postgres/calls/records';
import { registerRecipient } from '../../../postgres/callbacks/recipient';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

/**
 * A message of many parts to a slow receiver: its delivery takes longer than that of any other.
 *
 * @slow
 */

let database: TestDatabase;
beforeAll(async () => void (database = await createDatabase({ max: 5 })));
afterAll(() => database.drop());

const write = async (host: string): Promise<void> => {
  const recipient_id = await registerRecipient(database.pool, 'webhook', { url: `http://${host}/` });
  const body = { handler: 'h', target: 't', batch: null, tasks: [] };
  await inTransaction(database.pool, (tx) =>
    insertNotifications(tx, [{ batch_id: null, attempt: null, recipient_id, body }]),
  );
};

test('while it is delivered, a message to another receiver goes at once, however late', async () => {
  const begun: string[] = [];
  let isOver = false;
  const deliveries = new Deliveries({
    deps: { pool: database.pool, softDeadlineMs: 500 },
    settle: async ({ host, id }) => {
      begun.push(host!);
      if (host === 'long') await eventually(() => isOver);
      await database.pool.query({ text: 'update notification set done_at = clock() where id = $1', values: [id] });
    },
    isStopping: () => false,
  });
  await write('long');
  const over = deliveries.run();
  await eventually(() => begun.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 12_000)); // what other deliveries take, and more
  await write('quick');
  await eventually(() => begun.length === 2, { timeoutMs: 5_000, what: 'the other message' });
  isOver = true;
  await over;
});
