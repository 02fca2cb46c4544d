import { grantBatches } from '../../postgres/lanes/grant';
import { lockQueuer } from '../../postgres/lanes/queuerLock';
import { insertSubmitter, markGranted } from '../../postgres/lanes/submitter';
import { moveLaneBatch } from '../../postgres/lanes/settle';
import { inTransaction } from '../../postgres/pool';
import type { Client } from '../../client';
import { createClient } from '../../client';
import { whyNotCancelled } from '../../workflows/planning/lanes/cancel';
import type { LaneBatchStatus } from '../../workflows/planning/lanes/statuses';
import { STATUSES } from '../../workflows/planning/lanes/statuses';
import { mayBecome } from '../planning/lanes/model/transitions';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { Downstream, items } from './downstream';

/**
 * G9 in lanes: every status a batch of a lane may have, and a cancel beside a grant and a mark,
 * statement by statement. No worker.
 */

let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await createDatabase();
  client = createClient({
    databaseUrl: database.url,
    prefix: `t-${database.name}`,
    temporal: { address: temporalAddress() },
    handlers: [new Downstream().handler()],
  });
});
afterAll(async () => {
  await client.close();
  await database.drop();
});

/** As the product leaves the batch's own row in each status; `extra`: what stands beside it. */
const EXTRA: Partial<Record<LaneBatchStatus, string>> = {
  submitted: 'dispatch = 1',
  pending: `reference = 'r'`,
  valid: `reference = 'r'`,
  unknown: 'attempt = 1, unsure = true',
  parked: 'state = 3, attempt = 1',
  refused: 'attempt = 1, refused = true',
  committed: 'state = 4, finished_at = clock()',
  invalid: 'state = 5, finished_at = clock()',
  skipped: 'state = 5, finished_at = clock()',
  'failed-dependency': 'state = 5, finished_at = clock()',
};
const CALLING = `attempt = 1, dispatch = 1, attempt_until = clock() + interval '1 min'`;
const inStatus = async (status: LaneBatchStatus, extra = EXTRA[status]): Promise<{ batch: number; id: string }> => {
  const [item] = items(`${status}`);
  const { batch } = await client.submitBatch('edits', status, [item!]);
  await moveLaneBatch(database.pool, batch, STATUSES[status]);
  if (extra !== undefined) await database.pool.query(`update batch set ${extra} where id = ${batch}`);
  if (status === 'submitted')
    await database.pool.query(`update lane_batch set submitter = 1 where batch_id = ${batch}`);
  return { batch, id: item!.id };
};

test.each([
  ['unsubmitted', undefined, null],
  ['unsubmitted', 'attempt = 1, unsure = true', /earlier call of it may have been applied/],
  ['delayed', undefined, null],
  ['delayed', `retry_at = clock() + interval '1 hour', attempt = 1`, null],
  ['submitted', EXTRA.submitted, null],
  ['submitted', CALLING, /a call with it is in flight/],
  ['submitted', 'dispatch = 1, attempt = 1, unsure = true', /earlier call of it may have been applied/],
  ['refused', EXTRA.refused, null],
  ['unknown', EXTRA.unknown, /it may have been applied; it will be looked up/],
  ['pending', EXTRA.pending, /the downstream accepted it/],
  ['valid', EXTRA.valid, /the downstream accepted it/],
  ['parked', EXTRA.parked, /lane skip.*lane fix/],
  ['committed', EXTRA.committed, /it was applied/],
  ['invalid', EXTRA.invalid, /refused it permanently/],
  ['skipped', EXTRA.skipped, /an operator/],
  ['failed-dependency', EXTRA['failed-dependency'], /failed without being sent/],
] as const)('%s, %s [G9]', async (status, extra, refusal) => {
  const { batch, id } = await inStatus(status, extra);
  const pendingOf = async (): Promise<{ pending: number; n: number }> =>
    (
      await database.pool.query<{ pending: number; n: number }>(
        `select s.pending, (select count(*)::int from lane_batch o where o.lane_id = l.id and o.status in (3, 4, 5)) as n
         from lane_state s join lane l on l.id = s.lane_id where l.service = $1`,
        [status],
      )
    ).rows[0]!;
  const before = (await client.getTask(id))!.state;
  if (refusal === null) {
    expect(await client.cancelBatch(batch)).toEqual({ batch, service: status, tasks: [id] });
    expect(await client.getTask(id)).toMatchObject({ state: 'cancelled', batch });
    expect((await client.batchStatus(batch))!.status).toBe('cancelled');
    const { rows } = await database.pool.query(
      `select state, dispatch, retry_at, n_left from batch where id = ${batch}`,
    );
    expect(rows).toEqual([{ state: 7, dispatch: null, retry_at: null, n_left: 1 }]);
  } else {
    const error = { code: 'NOT_CANCELLABLE', batch, status, message: expect.stringMatching(refusal) as string };
    await expect(client.cancelBatch(batch)).rejects.toMatchObject(error);
    expect((await client.getTask(id))!.state).toBe(before);
  }
  const { pending, n } = await pendingOf();
  expect(pending).toBe(n);
});

test('the table names every status, and agrees with the transitions [G9]', () => {
  for (const status of Object.keys(STATUSES) as LaneBatchStatus[]) {
    const may = whyNotCancelled({ status, calling: false, unsure: false }) === null;
    // What the downstream has ends cancelled only once that says so.
    const byDownstream = status === 'pending' || status === 'valid' || status === 'unknown';
    expect([status, mayBecome(status, 'cancelled')]).toEqual([status, may || byDownstream]);
    expect(whyNotCancelled({ status, calling: true, unsure: true })).not.toBeNull();
  }
});

test('what is no batch of a lane [G9]', async () => {
  await expect(client.cancelBatch(987_654)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(client.cancelBatch(0)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

/** Sees to it that one statement waits for another's lock. */
const somebodyWaits = (): Promise<unknown> =>
  eventually(
    async () =>
      (
        await database.pool.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
      ).rowCount,
    { what: 'a wait for a lock' },
  );

/** Granted to a live submitter, as the queuer does it. */
const grant = async (service: string): Promise<{ batch: number; no: number; id: string }> => {
  const [item] = items(service);
  const { batch } = await client.submitBatch('edits', service, [item!]);
  const no = await inTransaction(database.pool, async (tx) => {
    await lockQueuer(tx, 0);
    const submitter = await insertSubmitter(tx, 0, 0, 1, 60_000);
    await tx.query(
      'update lane_state set pending = pending + 1, ready = false where lane_id = (select lane_id from lane_batch where batch_id = $1)',
      [batch],
    );
    await grantBatches(tx, [{ id: batch, from: 0, submitter, startInMs: 0 }]);
    return submitter;
  });
  return { batch, no, id: item!.id };
};
const markOf = ({ batch, no }: { batch: number; no: number }) => ({
  id: batch,
  attempt: 0,
  submitter: no,
  timeoutMs: 60_000,
});

test('a mark that came first wins: the cancel looks again when it has committed, and says so [G9 C29]', async () => {
  const granted = await grant('mark-first');
  const tx = await database.pool.connect();
  await tx.query('begin');
  expect(await markGranted(tx, [markOf(granted)], 'n')).toEqual(new Set([granted.batch]));
  const cancelling = client.cancelBatch(granted.batch).catch((error: { status: string }) => error);
  await new Promise((resolve) => setTimeout(resolve, 100));
  // It let go of the lane meanwhile: whoever holds the batch may need it.
  await database.pool.query(
    `select from lane_state s join lane l on l.id = s.lane_id where l.service = 'mark-first' for no key update of s`,
  );
  await tx.query('commit');
  tx.release();
  expect(await cancelling).toMatchObject({ code: 'NOT_CANCELLABLE', status: 'submitted' });
  expect((await client.getTask(granted.id))!.state).toBe('in-progress');
});

test('a cancel that came first wins: the mark that waited for it finds nothing to send [G9 C29]', async () => {
  const granted = await grant('cancel-first');
  const tx = await database.pool.connect();
  await tx.query('begin');
  await tx.query('select from batch where id = $1 for share', [granted.batch]); // holds both back
  const cancelling = client.cancelBatch(granted.batch);
  await tx.query('commit');
  tx.release();
  await cancelling;
  expect(await markGranted(database.pool, [markOf(granted)], 'n')).toEqual(new Set());

  const other = await grant('cancel-held');
  const own = await database.pool.connect();
  await own.query('begin');
  // As far as the product's cancel gets before its commit.
  await own.query('select from batch where id = $1 for no key update', [other.batch]);
  const marking = markGranted(database.pool, [markOf(other)], 'n');
  await somebodyWaits();
  await own.query(`update batch set state = 7, n_left = n, dispatch = null, finished_at = clock() where id = $1`, [
    other.batch,
  ]);
  await own.query('commit');
  own.release();
  expect(await marking).toEqual(new Set());
});

test('a grant that holds the lane is waited for, and what it granted and nobody marked is cancelled all the same [G9]', async () => {
  const [item] = items('grant-first');
  const { batch } = await client.submitBatch('edits', 'grant-first', [item!]);
  const tx = await database.pool.connect();
  await tx.query('begin');
  await tx.query(
    'select from lane_state where lane_id = (select lane_id from lane_batch where batch_id = $1) for no key update',
    [batch],
  );
  const cancelling = client.cancelBatch(batch);
  await somebodyWaits();
  const no = await insertSubmitter(tx, 0, 0, 1, 60_000);
  await tx.query(
    'update lane_state set pending = pending + 1 where lane_id = (select lane_id from lane_batch where batch_id = $1)',
    [batch],
  );
  await grantBatches(tx, [{ id: batch, from: 0, submitter: no, startInMs: 0 }]);
  await tx.query('commit');
  tx.release();
  expect((await cancelling).tasks).toEqual([item!.id]);
  expect(await markGranted(database.pool, [markOf({ batch, no })], 'n')).toEqual(new Set());
  expect((await client.lane('grant-first')).pending).toBe(0);
});
