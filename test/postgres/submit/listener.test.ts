import pino from 'pino';
import type { Client } from '../../../postgres/pool';
import { SubmitListener } from '../../../workers/submits/listener';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';

/** The session by which a process hears of tasks that were submitted by SQL. */

let database: TestDatabase;
let listener: SubmitListener;
beforeEach(async () => {
  database = await createDatabase();
  const nothing = (): Promise<void> => Promise.resolve();
  listener = new SubmitListener({
    pool: database.pool,
    log: pino({ enabled: false }),
    ring: nothing,
    release: nothing,
  });
});
afterEach(async () => {
  await listener.close();
  await database.drop();
});

const listening = (): { client: Client } | null => (listener as unknown as { listening: { client: Client } }).listening;
const sessions = async (): Promise<number> => {
  const { rows } = await database.pool.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity
    where datname = current_database() and application_name = 'muster submits'`,
  );
  return rows[0]!.n;
};

test('the end of a session that it has left does not close the next one', async () => {
  await listener.listen();
  const ended = listening()!.client.listeners('end').at(-1) as () => void;
  await listener.close();
  await listener.listen();
  ended(); // the server's word may come late
  expect(listening()).not.toBeNull();
  expect(await sessions()).toBe(1);
});

test('a session that ends while it begins to listen is told by its own error, and the next round listens', async () => {
  const query = jest.spyOn(Object.getPrototypeOf(await database.pool.connect().then(released)) as Client, 'query');
  query.mockImplementationOnce(function (this: Client): never {
    this.emit('end');
    throw new Error('Connection terminated unexpectedly');
  });
  await expect(listener.listen()).rejects.toThrow('Connection terminated unexpectedly');
  query.mockRestore();
  expect(listening()).toBeNull();
  await listener.listen();
  expect(await sessions()).toBe(1);
});

const released = (client: Client): Client => {
  client.release();
  return client;
};
