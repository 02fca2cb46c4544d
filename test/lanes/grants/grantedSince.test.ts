import pino from 'pino';
import { grantLanes } from '../../../activities/lanes/grant';
import { DEFAULT_NODE_SETTINGS } from '../../../activities/nodes/settings';
import type { Client } from '../../../client';
import { createClient } from '../../../client';
import { grantBatches } from '../../../postgres/lanes/grant';
import { lockQueuer } from '../../../postgres/lanes/queuerLock';
import { recoverBatches } from '../../../postgres/lanes/recovery';
import { insertSubmitter } from '../../../postgres/lanes/submitter';
import { inTransaction } from '../../../postgres/pool';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase, temporalAddress } from '../../helpers/database';
import { Downstream, items } from '../downstream';

/**
 * Since when a batch has been in the hands of submitters: on a starved machine their activities are
 * lost one after another before they begin, every 20 s, and the batch stands all the same.
 */

const NEVER_CALLED = 'a batch that a submitter was granted is called';

let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await createDatabase();
  const handler = new Downstream().handler();
  const temporal = { address: temporalAddress() };
  client = createClient({ databaseUrl: database.url, prefix: `t-${database.name}`, temporal, handlers: [handler] });
  // A process that has the handler, so that the calls could be made.
  await query(
    `insert into node (id, task_queue, handlers, started_at, seen_at) values ('n', 'q', array['edits'], clock() - interval '1 hour', clock() + interval '1 hour')`,
  );
});
afterAll(async () => {
  await client.close();
  await database.drop();
});

const query = (text: string): Promise<unknown> => database.pool.query({ text });
const grant = (batch: number): Promise<number> =>
  inTransaction(database.pool, async (tx) => {
    await lockQueuer(tx, 0);
    const submitter = await insertSubmitter(tx, 0, 0, 1, 60_000);
    await tx.query(
      'update lane_state set pending = pending + 1, ready = false where lane_id = (select lane_id from lane_batch where batch_id = $1)',
      [batch],
    );
    await grantBatches(tx, [{ id: batch, from: 0, submitter, startInMs: 0 }]);
    return submitter;
  });
const grantedForMs = async (batch: number): Promise<number> => {
  const { rows } = await database.pool.query<{ ms: number }>({
    text: `select (extract(epoch from clock() - granted_at) * 1000)::float8 as ms from lane_batch where batch_id = $1`,
    values: [batch],
  });
  return rows[0]!.ms;
};
/** A batch that was granted 70 s ago, and whose submitter has just been given up. */
const lost = async (service: string): Promise<number> => {
  const { batch } = await client.submitBatch('edits', service, items(service));
  const submitter = await grant(batch);
  await query(`update lane_batch set granted_at = granted_at - interval '70 s' where batch_id = ${batch}`);
  await recoverBatches(database.pool, [submitter]);
  return batch;
};
const standing = async (): Promise<unknown[]> =>
  (await client.verify()).checks.find(({ name }) => name === NEVER_CALLED)!.violations;

test('granted again at once: it has stood since the first grant, and verify names it', async () => {
  const batch = await lost('again');
  await grant(batch);
  expect(await grantedForMs(batch)).toBeGreaterThan(70_000);
  expect(await standing()).toEqual([expect.objectContaining({ batch })]);
  await query(`update lane_batch set granted_at = clock() where batch_id = ${batch}`);
});

let runs = 0;
/** A turn of a new run: it takes back what those before it granted, and grants all of it again. */
const grantByTurn = async (batch: number): Promise<{ startLimitMs: number; leaseMs: number }> => {
  const deps = { pool: database.pool, leaseMs: 15_000, nodes: DEFAULT_NODE_SETTINGS, log: pino({ enabled: false }) };
  const run = { runId: `r-${++runs}`, runStartedAtMs: Date.now() + runs };
  const { submitters } = await grantLanes(deps, { ...run, turn: 1, live: [], mayClaim: true, queuerId: 0 });
  const { rows } = await database.pool.query<{ no: number; leaseMs: number }>({
    text: `
select s.submitter as no, (extract(epoch from m.expires_at - clock()) * 1000)::float8 as "leaseMs"
from lane_batch s join submitter m on m.no = s.submitter where s.batch_id = $1`,
    values: [batch],
  });
  const { no, leaseMs } = rows[0]!;
  return { startLimitMs: submitters.find((one) => one.no === no)!.startLimitMs!, leaseMs };
};

test.each([
  ['after a pause', `update lane_batch set changed_at = changed_at - interval '11 s' where batch_id = `],
  ['after a call', `update batch set attempt = attempt + 1 where id = `],
])('granted again %s: it begins anew', async (_what, change) => {
  const batch = await lost(_what);
  await query(`${change}${batch}`);
  expect((await grantByTurn(batch)).startLimitMs).toBe(20_000);
  expect(await grantedForMs(batch)).toBeLessThan(60_000);
  expect(await standing()).toEqual([]);
});

test('granted again at once: the activity may begin later, and its submitter holds it longer', async () => {
  const batch = await lost('longer');
  const { startLimitMs, leaseMs } = await grantByTurn(batch);
  expect(startLimitMs).toBe(60_000); // twice 70 s would be more
  expect(leaseMs).toBeGreaterThan(startLimitMs);
});
