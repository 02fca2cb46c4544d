import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import pino from 'pino';
import { claimBatches } from '../../activities/grouping/claim';
import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import { Expired } from '../../workers/sweeper/expired';
import { Sweeper } from '../../workers/sweeper/sweeper';
import { connectTo, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import type { OwnMuster } from '../workflows/ownNode';
import { openOwn } from '../workflows/ownNode';
import { calls, HOUR_MS, plain } from './handlers';
import { Requests } from '../../workflows/temporal/requests';

/**
 * A leader's run is terminated before any worker takes up its dispatch, which is lost with it; a
 * task of tomorrow makes the leader wait for hours. Nothing but the sweeper brings it back.
 */

let muster: OwnMuster;
beforeEach(async () => {
  calls.splice(0);
  muster = await openOwn([plain]);
});
afterEach(() => muster.stop());

const query = async (text: string): Promise<Record<string, unknown>[]> =>
  (await muster.database.pool.query(text)).rows as Record<string, unknown>[];
const silentFor = (seconds: number): Promise<unknown> =>
  query(`update dispatch set seen_at = clock() - interval '${seconds} s'`);

/** A turn of a run that has gone since: its dispatch was never scheduled. */
const loseDispatch = async (): Promise<void> => {
  const { client, database } = muster;
  await client.submit('plain', { id: 'tomorrow', payload: { to: 'x' }, notBefore: Date.now() + 24 * HOUR_MS });
  await client.submit('plain', { id: 'now', payload: { to: 'x' } });
  // A submit does not wait for a slow ring, and before it nothing is due.
  await eventually(async () => (await query('select from target where due_at <= clock()')).length > 0);
  const run = { runId: randomUUID(), runStartedAtMs: Date.now(), turn: 1, live: [], mayClaim: true };
  const { rows } = await database.pool.query<{ id: number }>('select id from leader');
  const none = (): Promise<void> => Promise.resolve();
  const deps = { pool: database.pool, leaseMs: 15_000, nodes: DEFAULT_NODE_SETTINGS, wake: none, tellUnsent: none };
  const { dispatch } = await claimBatches(deps, { ...run, leaderId: rows[0]!.id });
  expect(dispatch).toMatchObject({ batches: 1 });
  expect(await query(`select state, wake_at > clock() + interval '20 hours' as "waitsLong" from leader`)).toEqual([
    { state: 2, waitsLong: true },
  ]);
};

test('a dispatch that was lost with its run is made up for, however long its leader waits', async () => {
  await loseDispatch();
  await silentFor(31);
  await muster.startNode({ sweepEveryMs: 300, leaseMs: 1_500 });
  await eventually(async () => (await muster.client.getTask('now'))?.state === 'succeeded', {
    what: 'the task of the lost dispatch',
  });
  expect(calls).toEqual(['plain: now']);
});

test('a dispatch that may be about to start is left alone, and so is a leader whose wake changed nothing', async () => {
  await loseDispatch();
  const { pool } = muster.database;
  const connection = await connectTo({ address: temporalAddress() });
  const options = { pool, requests: new Requests(new Client({ connection })), prefix: muster.prefix, leaseMs: 15_000 };
  const expired = new Expired({ ...options, log: { warn: () => undefined } });
  try {
    await silentFor(25);
    expect(await expired.wakeForLostDispatches()).toEqual([]);
    await silentFor(31);
    expect(await expired.wakeForLostDispatches()).toMatchObject([{ handler: 'plain' }]);
    expect(await query('select state, woken_at is not null as woken from leader')).toEqual([{ state: 1, woken: true }]);
    await expired.wakeForLostDispatches();
    // As after a turn that found the dispatch still in flight.
    await query('update leader set state = 2, woken_at = null, wake_at = clock()');
    expect(await expired.wakeForLostDispatches()).toEqual([]);
    await silentFor(0);
    expect(await expired.wakeForLostDispatches()).toEqual([]);
    await silentFor(31);
    expect(await expired.wakeForLostDispatches()).toHaveLength(1);
  } finally {
    await connection.close();
  }
});

test('the sweeper counts it', async () => {
  await loseDispatch();
  await silentFor(31);
  const connection = await connectTo({ address: temporalAddress() });
  const { prefix, database } = muster;
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
    await eventually(() => sweeper.counts.lostDispatches > 0, { what: 'a lost dispatch to be counted' });
    expect(sweeper.counts).toMatchObject({ lostDispatches: 1, expiredLeaders: 0 });
  } finally {
    await sweeper.stop();
    await connection.close();
  }
});
