import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import pino from 'pino';
import { deliverNotifications } from '../../../../activities/callbacks/notify';
import type { ActivityDeps } from '../../../../activities/deps';
import { registerRecipient } from '../../../../postgres/callbacks/recipient';
import { insertNotifications } from '../../../../postgres/calls/records';
import type { DeliveryAnswer } from '../../../../workflows/definitions';
import { DELIVERY_LIMITS } from '../../../../workflows/planning/callbacks/turns';
import type { TestDatabase } from '../../../helpers/database';
import { createDatabase } from '../../../helpers/database';
import type { Receiver } from '../receiver';
import { SECRET, startReceiver } from '../receiver';

/** What one look at the outbox does with the messages to a host that fails. */

/** Three more than go to one host at once. */
const MANY = DELIVERY_LIMITS.perHost + 3;
const UNTRIED = 'not tried, since its host did not answer another delivery';

let database: TestDatabase;
let receiver: Receiver;
beforeEach(async () => {
  database = await createDatabase({ max: 5 });
  receiver = await startReceiver();
});
afterEach(async () => {
  await receiver.close();
  await database.drop();
});

const write = async (url: string, n: number): Promise<void> => {
  const recipient = await registerRecipient(database.pool, 'webhook', { url });
  const body = { handler: 'h', target: 't', batch: null, tasks: [{ id: 'a', state: 'succeeded' as const }] };
  const one = { batch_id: null, attempt: null, recipient_id: recipient, body };
  await insertNotifications(
    database.pool,
    Array.from({ length: n }, () => one),
  );
};
const deliver = (): Promise<DeliveryAnswer> => {
  const deps: Partial<ActivityDeps> = {
    pool: database.pool,
    log: pino({ level: 'silent' }),
    callbacks: { allow: ['127.0.0.1:*'], secret: SECRET },
    sealer: null,
    workflowSealer: null,
    softDeadlineMs: 60_000,
    draining: new AbortController().signal,
  };
  const activity = new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') });
  return activity.run(deliverNotifications, deps as ActivityDeps);
};
const errors = async (): Promise<string[]> => {
  const { rows } = await database.pool.query<{ error: string }>(
    'select error from notification where done_at is null and error is not null',
  );
  return rows.map(({ error }) => error);
};

test('a host that gives no answer at all is tried no more in this look; its messages wait, and others go', async () => {
  await write('http://127.0.0.1:1/', MANY);
  await write(`${receiver.url}/`, 2);
  expect(await deliver()).toMatchObject({ delivered: 2, givenUp: 0 });
  const left = await errors();
  expect(left).toHaveLength(MANY);
  expect(left.filter((error) => error.startsWith(UNTRIED)).length).toBeGreaterThanOrEqual(3);
});

test('a message that was not tried has used up no attempt, and is due again soon each time', async () => {
  await write('http://127.0.0.1:1/broken', MANY);
  // As if they had been tried before: the wait of another attempt would be two hours and more.
  await database.pool.query('update notification set attempts = 12');
  for (const looks of [1, 2]) {
    await deliver();
    const { rows } = await database.pool.query<{ attempts: number; waitMs: number; untried: boolean }>({
      text: `select attempts, extract(epoch from next_at - clock())::float8 * 1000 as "waitMs",
          error like $1 || '%' as untried
        from notification where done_at is null`,
      values: [UNTRIED],
    });
    const untried = rows.filter((row) => row.untried);
    expect(untried.length).toBeGreaterThanOrEqual(3);
    expect([looks, untried.filter(({ attempts }) => attempts !== 12)]).toEqual([looks, []]);
    expect(untried.filter(({ waitMs }) => waitMs > 10_000)).toEqual([]);
    await database.pool.query('update notification set next_at = clock(), attempts = 12 where done_at is null');
  }
});

test('two receivers on one host: that which does not answer uses up no attempts of the other', async () => {
  let isBroken = true;
  receiver.answer = (response) => void (isBroken ? response.destroy() : response.writeHead(200).end());
  await write(`${receiver.url}/of-one-tenant`, MANY);
  await write(`${receiver.url}/of-another`, 2);
  await deliver();
  const { rows } = await database.pool.query<{ attempts: number }>(
    `select n.attempts from notification n join recipient i on i.id = n.recipient_id
      where i.address->>'url' like '%of-another'`,
  );
  expect(rows).toEqual([{ attempts: 0 }, { attempts: 0 }]);
  isBroken = false;
  await database.pool.query('update notification set next_at = clock()');
  expect(await deliver()).toMatchObject({ delivered: MANY + 2 });
});

test('a host that answers, whatever it says, is tried with each of its messages', async () => {
  receiver.answer = (response) => void response.writeHead(500).end();
  await write(`${receiver.url}/`, MANY);
  expect(await deliver()).toMatchObject({ delivered: 0, givenUp: 0 });
  expect(receiver.received.length).toBeGreaterThanOrEqual(MANY);
  expect(await errors()).toEqual(Array.from({ length: MANY }, () => expect.stringContaining('answered 500') as string));
});
