import { putOffNotification, takeDueNotifications } from '../../postgres/callbacks/notification';
import type { Take } from '../../postgres/callbacks/notification';
import { insertNotifications } from '../../postgres/calls/records';
import { registerRecipient } from '../../postgres/callbacks/recipient';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';

/**
 * What one take of the outbox leaves out: hosts that have their share, more than the share of a
 * host, and what was tried before. Messages to workflows wait for no host and have no share.
 */

const ALL: Take = { limit: 64, leaseMs: 60_000, except: [], perHost: 100, firstOnly: false };
const SLOW = 'http://Slow.example.com:8080/ends';
const QUICK = 'https://quick.example.com/ends';

let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase({ max: 2 });
  const body = { handler: 'jobs', target: 't', batch: null, tasks: [] };
  const insert = async (kind: 'webhook' | 'workflow', address: object): Promise<void> => {
    const recipient = await registerRecipient(database.pool, kind, address);
    const notification = { batch_id: null, attempt: null, recipient_id: recipient, body };
    await insertNotifications(database.pool, [notification, notification, notification]);
  };
  await insert('webhook', { url: SLOW });
  await insert('webhook', { url: QUICK });
  await insert('workflow', { workflowId: 'w' });
});
afterEach(() => database.drop());

/** How many were taken, by host. */
const take = async (more: Partial<Take>): Promise<Record<string, number>> => {
  const taken = await takeDueNotifications(database.pool, { ...ALL, ...more });
  return Object.fromEntries(
    [...new Set(taken.map(({ host }) => host))]
      .map((host): [string, number] => [host ?? 'none', taken.filter((one) => one.host === host).length])
      .sort(),
  );
};
const [slow, quick] = ['slow.example.com:8080', 'quick.example.com'];

test('all that is due, once: what is taken is leased', async () => {
  expect(await take({})).toEqual({ none: 3, [quick]: 3, [slow]: 3 });
  expect(await take({})).toEqual({});
});

test('none of the hosts that have their share, as many as there are', async () => {
  expect(await take({ except: [slow] })).toEqual({ none: 3, [quick]: 3 });
  expect(await take({ except: [quick, 'other.example.com'] })).toEqual({ [slow]: 3 });
});

test('no more than its share of a host, and the others are taken behind it', async () => {
  expect(await take({ perHost: 1, limit: 5 })).toEqual({ none: 3, [quick]: 1, [slow]: 1 });
  expect(await take({ perHost: 2 })).toEqual({ [quick]: 2, [slow]: 2 });
});

test('only what was never tried', async () => {
  const [tried] = await takeDueNotifications(database.pool, { ...ALL, perHost: 1, except: [quick], limit: 1 });
  await putOffNotification(database.pool, tried!.id, tried!.attempts, 0, 'no answer');
  expect(await take({ firstOnly: true, perHost: 3 })).toEqual({ none: 3, [quick]: 3, [slow]: 2 });
  expect(await take({})).toEqual({ [slow]: 1 });
});
