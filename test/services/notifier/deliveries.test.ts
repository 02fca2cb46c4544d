import { Deliveries } from '../../../activities/callbacks/deliveries';
import { returnNotifications, takeDueNotifications } from '../../../postgres/callbacks/notification';
import type { TakenNotification } from '../../../postgres/callbacks/notification';
import { inTransaction } from '../../../postgres/pool';
import { insertNotifications } from '../../../postgres/calls/records';
import { registerRecipient } from '../../../postgres/callbacks/recipient';
import { aheadOf, DELIVERY_LIMITS } from '../../../workflows/planning/callbacks/turns';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

/**
 * What one look takes from a real outbox, and when; how a delivery ends is up to the test. Which
 * one is next is a pure decision (`planning/callbacks`), what a statement takes is the store's.
 */

let database: TestDatabase;
beforeEach(async () => void (database = await createDatabase({ max: 5 })));
afterEach(() => database.drop());

/** Puts messages to a host into the outbox; tried before, if `attempts` says so. */
const write = async (host: string, n: number, attempts = 0): Promise<void> => {
  const recipient = await registerRecipient(database.pool, 'webhook', { url: `http://${host}/` });
  const body = { handler: 'h', target: 't', batch: null, tasks: [] };
  const one = { batch_id: null, attempt: null, recipient_id: recipient, body };
  const all = Array.from({ length: n }, () => one);
  // At once: a look must not see messages that were tried before as new.
  await inTransaction(database.pool, async (tx) => {
    await insertNotifications(tx, all);
    const tried = 'update notification set attempts = $2 where recipient_id = $1';
    await tx.query({ text: tried, values: [recipient, attempts] });
  });
};
const takenOf = async (host: string): Promise<number> => {
  const { rows } = await database.pool.query<{ n: number }>({
    text: `select count(*)::int as n from notification n join recipient i on i.id = n.recipient_id
      where n.attempts > 0 and i.address ->> 'url' like $1`,
    values: [`http://${host}%`],
  });
  return rows[0]!.n;
};

interface Look {
  /** Hosts whose delivery has begun, in order. */
  begun: string[];
  /** Lets deliveries to silent hosts end. */
  release(): void;
  stop(): void;
  over: Promise<void>;
}
/** Runs a look; deliveries to a host called `silent` take until they are released. */
const look = (softDeadlineMs: number): Look => {
  const begun: string[] = [];
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  let stopping = false;
  const settle = async ({ host, id }: TakenNotification): Promise<void> => {
    begun.push(host!);
    if (host!.startsWith('silent')) await released;
    await database.pool.query({ text: 'update notification set done_at = clock() where id = $1', values: [id] });
  };
  const deliveries = new Deliveries({
    deps: { pool: database.pool, softDeadlineMs },
    settle,
    isStopping: () => stopping,
  });
  return { begun, release, stop: () => void (stopping = true), over: deliveries.run() };
};
const count = (begun: readonly string[], host: string): number => begun.filter((one) => one.startsWith(host)).length;

test('of a silent host no more is taken than may wait, however often the others have something', async () => {
  await write('silent', 4 * aheadOf());
  await write('honest', 5);
  const { begun, release, over } = look(60_000);
  await eventually(() => count(begun, 'honest') === 5, { what: 'the other host’s messages' });
  for (let i = 1; i <= 3; i++) {
    await write(`honest${i}`, 5);
    await eventually(() => count(begun, 'honest') === 5 + 5 * i, { what: `messages of take ${i}` });
  }
  expect(count(begun, 'silent')).toBe(DELIVERY_LIMITS.perHost);
  expect(await takenOf('silent')).toBe(aheadOf());
  release();
  await over;
  expect(count(begun, 'silent')).toBe(4 * aheadOf());
});

test('past the soft deadline only a message that was never tried goes beside a delivery in progress', async () => {
  await write('silent', 1);
  const { begun, release, over } = look(300);
  await eventually(() => count(begun, 'silent') === 1);
  await new Promise((resolve) => setTimeout(resolve, 400)); // the soft deadline
  await write('again', 1, 1);
  await write('first', 1);
  await eventually(() => count(begun, 'first') === 1, { what: 'the message that was never tried' });
  await write('first2', 1);
  await eventually(() => count(begun, 'first2') === 1, { what: 'another one' });
  release();
  await over;
  expect(begun).toEqual(['silent', 'first', 'first2']);
});

test('a process that stops has each one that waits put back at once', async () => {
  const { perHost } = DELIVERY_LIMITS;
  await write('silent', perHost + 4);
  const { begun, release, stop, over } = look(60_000);
  await eventually(async () => (await takenOf('silent')) === perHost + 4);
  await eventually(() => begun.length === perHost);
  stop();
  await eventually(() => begun.length === perHost + 4, { what: 'those that waited' });
  release();
  await over;
});

test('a settlement that fails ends the look, with its reason; none begins any more', async () => {
  const { perHost } = DELIVERY_LIMITS;
  await write('silent', 2 * perHost);
  let begun = 0;
  let ended = 0;
  const deliveries = new Deliveries({
    deps: { pool: database.pool, softDeadlineMs: 60_000 },
    settle: async () => {
      if (++begun === 1) throw new Error('the store is away');
      await new Promise((resolve) => setTimeout(resolve, 100));
      ended++;
    },
    isStopping: () => false,
  });
  await expect(deliveries.run()).rejects.toThrow('the store is away');
  expect([begun, ended]).toEqual([perHost, perHost - 1]);
});

test('a take that fails ends the look after its deliveries, and what waited is due again at once', async () => {
  const { perHost } = DELIVERY_LIMITS;
  await write('silent', aheadOf());
  let takes = 0;
  const query = database.pool.query.bind(database.pool) as (...args: unknown[]) => Promise<unknown>;
  const failing = async (...args: unknown[]): Promise<unknown> => {
    const { name } = args[0] as { name: string };
    if (name !== 'take-due-notifications' || ++takes === 1) return query(...args);
    throw Object.assign(new Error('Connection terminated'), { code: '08006' });
  };
  let ended = 0;
  const deliveries = new Deliveries({
    deps: {
      pool: Object.assign(Object.create(database.pool) as typeof database.pool, { query: failing }),
      softDeadlineMs: 60_000,
    },
    settle: async ({ id }) => {
      await eventually(() => takes > 1);
      await query({ text: 'update notification set done_at = clock() where id = $1', values: [id] });
      ended++;
    },
    isStopping: () => false,
  });
  await expect(deliveries.run()).rejects.toThrow('Connection terminated');
  expect(ended).toBe(perHost);
  const { rows } = await database.pool.query<{ n: number }>(
    'select count(*)::int as n from notification where done_at is null and next_at <= clock() and attempts = 0',
  );
  expect(rows[0]!.n).toBe(aheadOf() - perHost);
});

test('messages that are returned late are not taken from the process that has them now', async () => {
  await write('quick', 1);
  const claim = { limit: 1, leaseMs: 60_000, except: [], perHost: 1, firstOnly: false };
  const taken = await takeDueNotifications(database.pool, claim);
  await returnNotifications(database.pool, taken);
  const again = await takeDueNotifications(database.pool, claim);
  expect(again.map(({ attempts }) => attempts)).toEqual([1]);
  await returnNotifications(database.pool, taken);
  expect(await takeDueNotifications(database.pool, claim)).toEqual([]);
  await returnNotifications(database.pool, again);
  expect(await takeDueNotifications(database.pool, claim)).toHaveLength(1);
});

test('a look goes on without a turn of its loop in which nothing is awaited', async () => {
  const messages = 5 * aheadOf();
  await write('quick', messages);
  let asked = 0;
  const deliveries = new Deliveries({
    deps: { pool: database.pool, softDeadlineMs: 60_000 },
    settle: async ({ id }) => {
      await database.pool.query({ text: 'update notification set done_at = clock() where id = $1', values: [id] });
    },
    // It is asked in each turn, and for each message.
    isStopping: () => ++asked < 0,
  });
  await deliveries.run();
  expect(await takenOf('quick')).toBe(messages);
  expect(asked).toBeLessThan(20 * messages);
});
