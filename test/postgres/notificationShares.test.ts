import { putOffNotification, takeDueNotifications } from '../../postgres/callbacks/notification';
import type { Take } from '../../postgres/callbacks/notification';
import { insertNotifications } from '../../postgres/calls/records';
import { registerRecipient } from '../../postgres/callbacks/recipient';
import { storedCallback } from '../../workflows/planning/callbacks/address';
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
const insert = async (kind: 'webhook' | 'workflow', address: object): Promise<void> => {
  const body = { handler: 'jobs', target: 't', batch: null, tasks: [] };
  const recipient = await registerRecipient(database.pool, kind, address);
  const notification = { batch_id: null, attempt: null, recipient_id: recipient, body };
  await insertNotifications(database.pool, [notification, notification, notification]);
};
beforeEach(async () => {
  database = await createDatabase({ max: 2 });
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

/** They lead to one host: the URL standard ends it at a backslash, too. */
const SPELLINGS = [
  'https://quick.example.com\\1/x',
  'https://QUICK.example.com:443',
  'https://quick.example.com:00443/?a',
  'https://quick.example.com:?a',
  'http://quick.example.com.:80#b',
  'https://u:p@v@quick.example.com/d',
  'https:///\\quick.example.com/e',
];

test('a host has one share in every spelling, as it was stored by versions before or comes by SQL', async () => {
  for (const url of SPELLINGS) await insert('webhook', { url });
  await insert('webhook', { url: 'http://slow.example.com.:08080\\1' });
  expect(await take({ perHost: 5 })).toEqual({ none: 3, [quick]: 5, [slow]: 5 });
  expect(await take({ except: [quick] })).toEqual({ [slow]: 1 });
  expect(await take({})).toEqual({ [quick]: 3 * SPELLINGS.length - 2 });
});

test('a host that only the URL standard can read has one share once the client has stored it', async () => {
  const more = [
    'https://quick\t.example\n.com/',
    'https://%71uick.example.com/',
    'https://ⓠuick。example.com/',
    'https://ｑuick.example.com:443/',
  ];
  for (const url of [...SPELLINGS, ...more]) await insert('webhook', storedCallback({ url }));
  expect(await take({ perHost: 5 })).toEqual({ none: 3, [quick]: 5, [slow]: 3 });
});

test('another port is another host, and an address has its brackets', async () => {
  for (const host of ['[::1]', '[::1]:443', '[::1]:8443', 'quick.example.com:8443', 'quick.example.com:4430'])
    await insert('webhook', { url: `https://${host}/` });
  const others = { '[::1]': 6, '[::1]:8443': 3, 'quick.example.com:8443': 3, 'quick.example.com:4430': 3 };
  expect(await take({})).toEqual({ none: 3, [quick]: 3, [slow]: 3, ...others });
});

test('only what was never tried', async () => {
  const [tried] = await takeDueNotifications(database.pool, { ...ALL, perHost: 1, except: [quick], limit: 1 });
  await putOffNotification(database.pool, tried!.id, tried!.attempts, 0, 'no answer');
  expect(await take({ firstOnly: true, perHost: 3 })).toEqual({ none: 3, [quick]: 3, [slow]: 2 });
  expect(await take({})).toEqual({ [slow]: 1 });
});
