import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, defineHandler, LaterError } from '../../client';
import type { Client, Handler } from '../../client';
import type { StartedWorker } from '../../workers/worker';
import { startWorker } from '../../workers/worker';
import { recoverBatches } from '../../postgres/lanes/recovery';
import type { Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import type { Breaking } from '../executions/breaking';
import { breakingPool } from '../executions/breaking';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';

/**
 * Sessions that are lost around the mark of a call: nothing was sent, so nothing may count as sent.
 * These handlers park what they do not know, which is the default. @slow
 */

let database: TestDatabase;
let pool: Pool;
let breaking: Breaking;
let worker: StartedWorker | null;
let client: Client | null;
let prefix: string;
beforeEach(async () => {
  database = await createDatabase();
  prefix = `marks-${randomBytes(5).toString('hex')}`;
  ({ pool, breaking } = breakingPool(database.url));
  [worker, client] = [null, null];
});
afterEach(async () => {
  await worker?.stop();
  await client?.close();
  await pool.end();
  await database.drop();
});

const begin = async (handler: Handler, shutdownGraceMs?: number): Promise<Client> => {
  const temporal = { address: temporalAddress() };
  const { url: databaseUrl } = database;
  const graceful = shutdownGraceMs === undefined ? {} : { shutdownGraceMs };
  worker = await startWorker({ databaseUrl, prefix, temporal, log: 'silent', handlers: [handler], pool, ...graceful });
  client = createClient({ databaseUrl, prefix, temporal, handlers: [handler] });
  return client;
};
const fails = (name: string, when: Breaking['when'], times = 1): void =>
  void Object.assign(breaking, { name, when, times });

interface How {
  /** How long the first call takes. */
  ms?: number;
  timeoutMs?: number;
  refuses?: () => boolean;
  /** A call has ended. */
  ends?: () => void;
}
/** Calls of a batch by target. */
const jobs = (
  calls: string[],
  { ms = 0, timeoutMs = 4_000, refuses = () => false, ends = () => undefined }: How = {},
) =>
  defineHandler<{ shop: string }>({
    name: 'jobs',
    target: ({ shop }) => shop,
    limits: { maxItems: 1 },
    linger: { lingerMs: 0 },
    leaders: 1,
    concurrency: { perHandler: 1 },
    timeoutMs,
    submit: async ({ target, tasks }) => {
      calls.push(target);
      await sleep(calls.length === 1 ? ms : 0);
      ends();
      if (refuses()) throw new LaterError('busy', { retryAfterMs: 700, scope: 'handler' });
      return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
    },
  });
/** Batches of a lane that were sent. */
const edits = (sent: number[]) =>
  defineHandler<{ n: number }>({
    name: 'edits',
    target: () => 'po',
    limits: { maxItems: 10 },
    timeoutMs: 4_000,
    lane: {},
    submit: ({ id: batch, tasks }) => {
      sent.push(Number(batch));
      return Promise.resolve({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
    },
  });
const taskOf = (id: string) => ({ id, payload: { shop: id } });

/** A mark that stays is parked after the call's time limit and 10 s. */
const endOf = async (submitter: Client, ids: string[]): Promise<string[]> =>
  (await submitter.waitFor(ids, { timeoutMs: 30_000 })).map(({ state }) => state);

test.each<[what: string, name: string, when: Breaking['when'], times: number]>([
  ['the members cannot be read beside the mark', 'read-member-contents', 'before', 5],
  ['the answer to the mark is lost', 'mark-attempts', 'after', 1],
])('%s: the batch is called once, and ends', async (_, name, when, times) => {
  const calls: string[] = [];
  const submitter = await begin(jobs(calls));
  fails(name, when, times);
  await submitter.submit('jobs', taskOf('lund'));
  expect(await endOf(submitter, ['lund'])).toEqual(['succeeded']);
  expect([breaking.broke, calls]).toEqual([times, ['lund']]);
});

test('marks are taken back after an outage of more than 20 s', async () => {
  const calls: string[] = [];
  const submitter = await begin(jobs(calls, { timeoutMs: 60_000 }));
  fails('mark-attempts', 'after');
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  let refused = 0;
  pool.query = (async (...args: unknown[]) => {
    const { name } = args[0] as { name?: string };
    // Twice per second.
    if (name === 'unmark-attempts' && ++refused < 46) throw Object.assign(new Error('away'), { code: '57P03' });
    return query(...args);
  }) as typeof pool.query;
  await submitter.submit('jobs', taskOf('lund'));
  expect((await submitter.waitFor(['lund'], { timeoutMs: 60_000 })).map(({ state }) => state)).toEqual(['succeeded']);
  expect([refused, calls]).toEqual([46, ['lund']]);
});

test('a mark that is given up is taken back, also if that fails at first', async () => {
  const calls: string[] = [];
  const submitter = await begin(jobs(calls, { ms: 200, refuses: () => calls.length === 1 }));
  fails('unmark-attempts', 'before');
  await submitter.submit('jobs', [taskOf('lund'), taskOf('ystad')]);
  expect(await endOf(submitter, ['lund', 'ystad'])).toEqual(['succeeded', 'succeeded']);
  expect([breaking.broke, calls.length]).toEqual([1, 3]);
});

test('a dispatch that fails takes back the marks of calls that it did not make', async () => {
  const calls: string[] = [];
  // Without a sign of life for 10 s it may begin no other call.
  const submitter = await begin(
    jobs(calls, { ms: 11_000, timeoutMs: 20_000, ends: () => void (breaking.name = null) }),
  );
  fails('touch-dispatch', 'before', 1_000);
  await submitter.submit('jobs', [taskOf('lund'), taskOf('ystad')]);
  expect(await endOf(submitter, ['lund', 'ystad'])).toEqual(['succeeded', 'succeeded']);
  expect(calls).toHaveLength(2);
});

test('the answer to the mark of a lane batch is lost: it is sent once, and nothing is looked up', async () => {
  const sent: number[] = [];
  const submitter = await begin(edits(sent));
  fails('mark-granted', 'after');
  const { batch } = await submitter.submitBatch('edits', 'po', [{ id: 'a', payload: { n: 1 } }]);
  expect(await endOf(submitter, ['a'])).toEqual(['succeeded']);
  expect([breaking.broke, sent]).toEqual([1, [batch]]);
});

test('a batch that its lane had back before its mark was taken back is sent once, and is not parked', async () => {
  const sent: number[] = [];
  const submitter = await begin(edits(sent));
  fails('mark-granted', 'after');
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  let recovered = 0;
  pool.query = (async (...args: unknown[]) => {
    const { name } = args[0] as { name?: string };
    if (name === 'unmark-attempts' && recovered++ === 0)
      await inTransaction(database.pool, async (tx) => {
        const { rows } = await tx.query<{ no: number }>('delete from submitter returning no');
        await recoverBatches(
          tx,
          rows.map(({ no }) => no),
        );
      });
    return query(...args);
  }) as typeof pool.query;
  const { batch } = await submitter.submitBatch('edits', 'po', [{ id: 'a', payload: { n: 1 } }]);
  expect(await endOf(submitter, ['a'])).toEqual(['succeeded']);
  expect([breaking.broke, recovered > 0, sent]).toEqual([1, true, [batch]]);
});

test('a worker that stops does not wait for marks that it cannot take back', async () => {
  const submitter = await begin(jobs([], { timeoutMs: 60_000 }), 500);
  fails('mark-attempts', 'after');
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  let refused = 0;
  pool.query = (async (...args: unknown[]) => {
    const { name } = args[0] as { name?: string };
    if (name !== 'unmark-attempts') return query(...args);
    refused++;
    throw Object.assign(new Error('away'), { code: '57P03' });
  }) as typeof pool.query;
  await submitter.submit('jobs', taskOf('lund'));
  await eventually(() => refused > 1, { what: 'a mark that cannot be taken back' });
  const stoppedAt = performance.now();
  await worker!.stop();
  worker = null;
  expect(performance.now() - stoppedAt).toBeLessThan(10_000);
});
