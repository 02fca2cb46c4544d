import { defineHandler } from '../../handlers';
import { UNSERVED } from '../../workflows/planning/grouping/next';
import { eventually } from '../helpers/eventually';
import { expectWhole } from '../helpers/whole';
import { Downstream, items } from '../lanes/downstream';
import type { OwnMuster } from '../workflows/ownNode';
import { openOwn } from '../workflows/ownNode';

/**
 * Work that waits for a holder of its partition is told when there is one. No node sweeps, and
 * every look that would come by itself is far away, so nothing heals a wake that is not sent.
 *
 * @full
 */

const sent: string[] = [];
const orders = defineHandler<{ shop: string }>({
  name: 'orders',
  target: ({ shop }) => shop,
  limits: { maxItems: 10 },
  affinity: { partitions: 1 },
  submit: ({ tasks }) => {
    sent.push(...tasks.map(({ id }) => id));
    return Promise.resolve({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
  },
});
const downstream = new Downstream();
const edits = downstream.handler({ affinity: { partitions: 1 } });
const other = defineHandler({
  name: 'other',
  target: () => 'one',
  limits: { maxItems: 10 },
  submit: () => Promise.resolve({ results: [] }),
});
/** A turn, a claim and a call of a busy machine; the next look is 50 s away and more. */
const SOON_MS = 20_000;

let own: OwnMuster;
beforeEach(async () => {
  sent.length = 0;
  downstream.seen.length = 0;
  own = await openOwn([orders, edits]);
});
afterEach(() => own.stop());

const is = (what: string, condition: string): Promise<unknown> =>
  eventually(async () => (await own.database.pool.query<{ is: boolean }>(`select ${condition} as is`)).rows[0]!.is, {
    what,
  });
const held = (n: number): Promise<unknown> =>
  is(
    `${n} partitions to be held`,
    `(select count(*) from lease
       where resource like 'partition/%' and holder is not null and expires_at > clock()) = ${n}`,
  );

const NAME = 'blue';
/** The only node with both handlers is drained since before it came: none holds a partition. */
const drainedNode = async (): Promise<void> => {
  const start = (): Promise<() => Promise<void>> => own.startNode({ nodes: { name: NAME, restartGraceMs: 0 } });
  const stop = await start();
  await held(2);
  await own.client.drainNode(NAME);
  await stop();
  await held(0);
  await start();
  await is('the node to be there', `exists (select from node where name = '${NAME}' and drained and not draining)`);
};

/** The leader looks again in a minute: its next turn doubles the wait that it has waited. */
const leaderRests = async (): Promise<void> => {
  const waits = `state = 2 and blocked and answer->>'heldBy' = '${UNSERVED}'`;
  await is('the leader to wait for a holder', `exists (select from leader where ${waits})`);
  await own.database.pool.query(`update leader set answer = answer || '{"dueInMs": 60000}' where ${waits}`);
  await is(
    'a look that is far away',
    `exists (select from leader where ${waits} and wake_at > clock() + interval '50 s')`,
  );
};
/** The lane comes up by no time. */
const laneRests = async (): Promise<void> => {
  await is(
    'the queuer to wait for a holder',
    `exists (select from queuer where state = 2)
      and exists (select from lane_state where not ready and unserved_by is not null)`,
  );
  await own.database.pool.query(`update lane_state set due_at = clock() + interval '1 h'`);
};
const soon = (what: string, happened: () => boolean): Promise<unknown> =>
  eventually(happened, { timeoutMs: SOON_MS, what: `${what} within ${SOON_MS} ms` });

test('the leader of a partition is told by the balancer that gives the partition out', async () => {
  await drainedNode();
  await own.client.submit('orders', { id: 'grouped', payload: { shop: 'a' } });
  await leaderRests();
  await own.client.drainNode(NAME, { undo: true });
  await soon('a call', () => sent.includes('grouped'));
  await own.client.waitFor('grouped');
  await expectWhole(own.client);
});

test('the lanes of a partition are told by the balancer that gives the partition out', async () => {
  await drainedNode();
  const [one] = items('shop');
  await own.client.submitBatch('edits', 'shop', [one!]);
  await laneRests();
  await own.client.drainNode(NAME, { undo: true });
  await soon('a call', () => downstream.seen.length > 0);
  await own.client.waitFor(one!.id);
  await expectWhole(own.client);
});

test('where the balancer died before it told the leader, the next node that joins tells it', async () => {
  await drainedNode();
  await own.client.submit('orders', { id: 'untold', payload: { shop: 'a' } });
  await leaderRests();
  // As its commit left it.
  const { pool } = own.database;
  await pool.query(`delete from drain`);
  await pool.query(`update node set drained = false`);
  await pool.query(
    `update lease set holder = (select id from node where name = $1 and not draining), epoch = epoch + 1,
       acquired_at = clock(),
       expires_at = clock() + interval '1 h', revoked_at = null, kept_for = null, kept_until = null
     where resource = 'partition/orders/0'`,
    [NAME],
  );
  // Without partitions: it tells no balancer.
  await own.startNode({ handlers: [other] });
  await soon('a call', () => sent.includes('untold'));
  await own.client.waitFor('untold');
});
