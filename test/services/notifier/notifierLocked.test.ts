import { insertNotifications } from '../../../postgres/calls/records';
import { registerRecipient } from '../../../postgres/callbacks/recipient';
import { inTransaction } from '../../../postgres/pool';
import { wakeNotifier } from '../../../workflows/wake';
import { Requests } from '../../../workflows/temporal/requests';
import { DELIVERY_LIMITS } from '../../../workflows/planning/callbacks/turns';
import { eventually } from '../../helpers/eventually';
import { startMuster } from '../../helpers/muster';
import type { TestMuster } from '../../helpers/muster';
import type { Receiver } from './receiver';
import { SECRET, startReceiver } from './receiver';

/**
 * Other transactions hold rows of single messages, or what only some messages read: the others go
 * on, and no such wait counts as an attempt of the receiver.
 */

let muster: TestMuster;
let receiver: Receiver;
beforeAll(async () => {
  muster = await startMuster([], { callbacks: { allow: ['127.0.0.1:*'], secret: SECRET }, sweepEveryMs: 0 });
});
beforeEach(async () => void (receiver = await startReceiver()));
afterEach(() => receiver.close());
afterAll(() => muster.stop());

const wake = async (): Promise<void> =>
  expect(await wakeNotifier(new Requests(await muster.client.temporal()), muster.prefix)).toBeNull();
const to = (path: string): Promise<number> =>
  registerRecipient(muster.database.pool, 'webhook', { url: `${receiver.url}/${path}` });
/** Puts `n` messages to the path into the outbox; about a batch, whose results they read. */
const write = async (path: string, n: number, about?: { batch: number }): Promise<void> => {
  const body = { handler: 'h', target: 't', batch: null, tasks: [{ id: 'x', state: 'succeeded' as const }] };
  const where = about === undefined ? { batch_id: null, attempt: null } : { batch_id: about.batch, attempt: 1 };
  const one = { ...where, recipient_id: await to(path), body };
  const all = Array.from({ length: n }, () => one);
  await inTransaction(muster.database.pool, (tx) => insertNotifications(tx, all));
  await wake();
};

interface Row {
  attempts: number;
  done: boolean;
  error: string | null;
  inMs: number | null;
}
const rowsOf = async (path: string): Promise<Row[]> =>
  (
    await muster.database.pool.query<Row>({
      text: `select n.attempts, n.done_at is not null as done, n.error,
          (extract(epoch from n.next_at - clock()) * 1000)::float8 as "inMs"
        from notification n join recipient i on i.id = n.recipient_id
        where i.address->>'url' = $1 order by n.id`,
      values: [`${receiver.url}/${path}`],
    })
  ).rows;
const areDone = async (path: string): Promise<boolean> => (await rowsOf(path)).every(({ done }) => done);

test('messages whose rows are held hold up no other to the same host, and are sent once', async () => {
  const { pool } = muster.database;
  const held = DELIVERY_LIMITS.perHost;
  const locker = await pool.connect();
  try {
    await locker.query(`begin; set local idle_in_transaction_session_timeout = 0`);
    let asked = 0;
    let locked: Promise<unknown> = Promise.resolve();
    receiver.answer = (response, _, { path }) => {
      if (path !== '/held') return void response.writeHead(204).end();
      asked++;
      if (asked === 1)
        locked = locker.query({
          text: `select from notification n join recipient i on i.id = n.recipient_id
            where i.address->>'url' = $1 for update of n`,
          values: [`${receiver.url}/held`],
        });
      void locked.then(() => response.writeHead(204).end());
    };
    await write('held', held);
    await eventually(() => asked === held, { what: 'all deliveries to be in progress' });
    await write('others', 5);
    await eventually(() => areDone('others'), { timeoutMs: 30_000, what: 'the messages beside the held ones' });
    expect((await rowsOf('held')).filter(({ done }) => done)).toEqual([]);
  } finally {
    await locker.query('rollback').finally(() => locker.release());
  }
  await eventually(() => areDone('held'), { what: 'the held messages' });
  expect(await rowsOf('held')).toEqual(
    Array.from({ length: held }, () => ({ attempts: 1, done: true, error: null, inMs: null })),
  );
  expect(receiver.received.filter(({ path }) => path === '/held')).toHaveLength(held);
});

test('a lock that outlasts many tries counts as no attempt and lengthens no wait', async () => {
  const { pool } = muster.database;
  const batch = 4_711; // no such batch: only the statement counts
  await inTransaction(pool, async (tx) => {
    await tx.query('lock table task in access exclusive mode'); // what a message about a batch reads
    for (let tries = 0; tries < 4; tries++) {
      if (tries === 0) await write('about', 1, { batch });
      else {
        await pool.query(`update notification set next_at = clock(), error = null where done_at is null`);
        await wake();
      }
      await eventually(async () => (await rowsOf('about')).every(({ error }) => error !== null));
      const [row] = await rowsOf('about');
      expect(row).toMatchObject({ attempts: 0, done: false, error: expect.stringMatching(/^not sent: .*canceling/) });
      expect(row!.inMs).toBeLessThan(34_000);
    }
  });
  await pool.query(`update notification set next_at = clock() where done_at is null`);
  await wake();
  await eventually(() => areDone('about'));
  expect(await rowsOf('about')).toEqual([{ attempts: 1, done: true, error: null, inMs: null }]);
});

test('a put-off and an end that meet a passing error are written again at once', async () => {
  const { pool } = muster.database;
  await pool.query(`
create sequence failures;
create function fail_twice() returns trigger language plpgsql as $$
begin
  if nextval('failures') <= 2 then raise exception 'in the way' using errcode = '40001'; end if;
  return new;
end $$;
create trigger fail_twice before update on notification for each row
  when (new.error is distinct from old.error or new.done_at is not null) execute function fail_twice()`);
  receiver.answer = (response, _, { path }) => void response.writeHead(path === '/refuses' ? 503 : 204).end();
  try {
    await write('refuses', 1);
    await eventually(async () => (await rowsOf('refuses'))[0]!.error !== null, { timeoutMs: 30_000 });
    expect(await rowsOf('refuses')).toMatchObject([{ attempts: 1, done: false, error: 'answered 503' }]);
    await pool.query(`select setval('failures', 1, false)`);
    await write('gone', 1);
    await eventually(() => areDone('gone'), { timeoutMs: 30_000 });
    expect(await rowsOf('gone')).toMatchObject([{ attempts: 1, error: null }]);
  } finally {
    await pool.query('drop trigger fail_twice on notification');
  }
});
