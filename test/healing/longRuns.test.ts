import type { Connection } from '@temporalio/client';
import { Client } from '@temporalio/client';
import pino from 'pino';
import { Expired } from '../../workers/sweeper/expired';
import { Sweeper } from '../../workers/sweeper/sweeper';
import { isLongAndSilent } from '../../workers/sweeper/longRuns';
import { connectTo, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { leaderWorkflowId, queuerWorkflowId } from '../../workflows/naming';
import { Downstream, items } from '../lanes/downstream';
import type { OwnMuster } from '../workflows/ownNode';
import { openOwn } from '../workflows/ownNode';
import { plain } from './handlers';
import { Requests } from '../../workflows/temporal/requests';

/**
 * All workers are killed at once, and their runs have long histories: the sweeper begins those anew
 * that are silent, so that no worker replays them.
 */

let muster: OwnMuster;
let connection: Connection;
beforeAll(async () => {
  muster = await openOwn([plain, new Downstream().handler()]);
  connection = await connectTo({ address: temporalAddress() });
  // No worker: their runs are open, and nothing takes their tasks.
  await muster.client.submit('plain', { id: 'one', payload: { to: 'x' } });
  await muster.client.submitBatch('edits', 'svc', items('svc'));
});
afterAll(async () => {
  await connection.close();
  await muster.stop();
});

/** Which row is looked at. */
const OUR: Record<string, string> = {
  leader: `(select l.id from leader l join handler h on h.id = l.handler_id where h.name = 'plain')`,
  queuer: '0',
};
const runOf = async (workflowId: string): Promise<string> => {
  const { runId, status } = await new Client({ connection }).workflow.getHandle(workflowId).describe();
  expect(status.name).toBe('RUNNING');
  return runId;
};
/** The row of one whose last turn was of this run, and which was woken so long ago. */
const write = (table: string, runId: string, turn: number, silentS: number): Promise<unknown> =>
  muster.database.pool.query({
    text: `update ${table} set state = 1, wake_at = null, epoch = 1, turn = ${turn}, holder = $1,
      woken_at = clock() - interval '${silentS} s', expires_at = clock() - interval '1 ms' where id = ${OUR[table]}`,
    values: [runId],
  });
const look = async (table: string): Promise<number> => {
  const counts = { stuckRuns: 0 };
  const { database, prefix } = muster;
  const expired = new Expired(
    {
      ...{ pool: database.pool, requests: new Requests(new Client({ connection })), prefix, leaseMs: 15_000 },
      log: { warn: () => undefined },
    },
    counts,
  );
  const woken = await (table === 'leader' ? expired.wakeLeaders() : expired.wakeQueuers());
  expect(woken).toHaveLength(1);
  return counts.stuckRuns;
};
const idOf = async (table: string): Promise<string> => {
  if (table === 'queuer') return queuerWorkflowId(muster.prefix, 0);
  const { rows } = await muster.database.pool.query<{ id: number; name: string }>(
    `select id, name from leader where id = ${OUR['leader']}`,
  );
  return leaderWorkflowId(muster.prefix, 'plain', rows[0]!.name, rows[0]!.id);
};

describe.each(['leader', 'queuer'])('%s', (table) => {
  test.each([
    ['of 19 turns', 19, 60],
    ['silent for 8 s', 500, 8],
  ])('one %s is woken, and its run stays', async (_what, turn, silentS) => {
    const workflowId = await idOf(table);
    const runId = await runOf(workflowId);
    await write(table, runId, turn, silentS);
    expect(await look(table)).toBe(0);
    expect(await runOf(workflowId)).toBe(runId);
  });

  test('one of 20 turns that has been silent for 11 s is begun anew', async () => {
    const workflowId = await idOf(table);
    const runId = await runOf(workflowId);
    await write(table, runId, 20, 11);
    expect(await look(table)).toBe(1);
    expect(await runOf(workflowId)).not.toBe(runId);
  });

  test('a run that has begun since is not the one that was silent: it stays', async () => {
    const workflowId = await idOf(table);
    const runId = await runOf(workflowId);
    await write(table, '7e1f2a3b-0000-4000-8000-000000000000', 500, 60);
    expect(await look(table)).toBe(0);
    expect(await runOf(workflowId)).toBe(runId);
  });

  test('one whose worker died in the middle counts as silent since its last sign of life', async () => {
    const workflowId = await idOf(table);
    const runId = await runOf(workflowId);
    await write(table, runId, 20, 0);
    await muster.database.pool.query({ text: `update ${table} set woken_at = null where id = ${OUR[table]}` });
    expect(await look(table)).toBe(1);
    expect(await runOf(workflowId)).not.toBe(runId);
  });
});

test('the sweeper counts it', async () => {
  const workflowId = await idOf('leader');
  await write('leader', await runOf(workflowId), 20, 11);
  const { database, prefix } = muster;
  const sweeper = new Sweeper({
    ...{
      pool: database.pool,
      prefix,
      requests: new Requests(new Client({ connection })),
      node: 'n-1',
      leaseMs: 15_000,
    },
    log: pino({ enabled: false }),
  });
  sweeper.start();
  try {
    await eventually(() => sweeper.counts.stuckRuns > 0, { what: 'a long silent run to be counted' });
  } finally {
    await sweeper.stop();
  }
});

test.each([
  [{ turn: 20, silentMs: 10_000, holder: 'r' }, true],
  [{ turn: 20, silentMs: 9_999, holder: 'r' }, false],
  [{ turn: 19, silentMs: 10_000, holder: 'r' }, false],
  [{ turn: 20, silentMs: 10_000, holder: null }, false],
])('%j is long and silent: %s', (run, expected) => {
  expect(isLongAndSilent(run)).toBe(expected);
});
