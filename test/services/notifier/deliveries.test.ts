import { Deliveries } from '../../../activities/callbacks/deliveries';
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
