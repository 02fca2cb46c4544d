import type { Client as TemporalClient } from '@temporalio/client';
import pino from 'pino';
import { balancePartitions } from '../../../activities/nodes/balance';
import type { BalanceDeps } from '../../../activities/nodes/balance';
import { DEFAULT_NODE_SETTINGS } from '../../../activities/nodes/settings';
import { defineHandler } from '../../../handlers';
import type { Handler } from '../../../handlers';
import { touchNode } from '../../../postgres/nodes/node';
import { Requests } from '../../../workflows/temporal/requests';
import type { Bench } from '../../workflows/bench';
import { openBench } from '../../workflows/bench';

/** A round of the balancer wakes what waited for a holder of the partitions that it gives out. */

interface Order {
  shop: string;
}
const define = (name: string, more: { service?: (shop: string) => string }): Handler =>
  defineHandler<Order>({
    name,
    target: ({ shop }) => shop,
    limits: { maxItems: 1 },
    affinity: { partitions: 1 },
    submit: () => Promise.reject(new Error('nobody calls')),
    ...more,
  });
const orders = define('orders', {});
const edits = define('edits', { service: (shop) => shop });

let bench: Bench;
/** Workflows that were woken. */
const woken: string[] = [];
beforeEach(async () => {
  woken.splice(0);
  bench = await openBench([orders, edits]);
});
afterEach(() => bench.stop());

/** A round, with one node that has this handler. */
const balance = async (handler: Handler): Promise<number> => {
  const { pool } = bench.database;
  const row = { id: 'a', taskQueue: 'q', handlers: [handler.name], version: '1', draining: false };
  await touchNode(pool, row);
  const temporal = {
    withDeadline: (_: number, send: () => Promise<unknown>) => send(),
    workflow: {
      signalWithStart: (workflow: string) => {
        woken.push(workflow);
        return Promise.resolve();
      },
    },
  } as unknown as TemporalClient;
  const log = pino({ level: 'silent' });
  const deps: BalanceDeps = { pool, requests: new Requests(temporal), prefix: 'p', log, nodes: DEFAULT_NODE_SETTINGS };
  return (await balancePartitions(deps, { runId: 'r', turn: 1 })).moved;
};
const read = async (text: string): Promise<unknown[]> => (await bench.database.pool.query(text)).rows;

test('the leader of the only partition that is given out goes on, and no round after it wakes it again', async () => {
  await bench.client.submit('orders', [{ id: 'a', payload: { shop: 's' } }]);
  await bench.client['connection'].settled();
  await bench.database.pool.query(`
    update leader set state = 2, blocked = true, wake_at = clock() + interval '1 hour',
      expires_at = clock() + interval '1 hour'`);
  expect(await balance(orders)).toBe(1);
  const leader = `select state, blocked, wake_at from leader
    where handler_id = (select id from handler where name = 'orders')`;
  expect(await read(leader)).toEqual([{ state: 1, blocked: false, wake_at: null }]);
  expect(woken).toEqual(['leader']);
  // Another round has nothing to give, and wakes nobody.
  expect(await balance(orders)).toBe(0);
  expect(woken).toHaveLength(1);
});

test('a lane of the only partition that is given out is looked at again, by its queuer', async () => {
  await bench.client.submitBatch('edits', 'po-1', [{ id: 'b', payload: { shop: 'po-1' } }]);
  await bench.client['connection'].settled();
  const { pool } = bench.database;
  // As a turn leaves them that found no holder.
  await pool.query(`update lane_state set ready = false`);
  await pool.query(`update queuer set state = 0, wake_at = null, expires_at = null`);
  expect(await balance(edits)).toBe(1);
  expect(await read('select ready from lane_state')).toEqual([{ ready: true }]);
  expect(woken).toEqual(['queuer']);
});
