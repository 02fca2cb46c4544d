import type { Client } from '../../client';
import { createClient } from '../../client';
import type { Handler } from '../../handlers';
import type { NodeOptions } from '../../workers/nodeOptions';
import { monitorWorkflowId, notifierWorkflowId, queuerWorkflowId } from '../../workflows/naming';
import { temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import type { Receiver } from '../services/notifier/receiver';
import { SECRET, startReceiver } from '../services/notifier/receiver';
import type { OwnMuster } from '../workflows/ownNode';
import { openOwn } from '../workflows/ownNode';
import { accepting, asked, calls, HOUR_MS, laned, other, plain } from './handlers';

/**
 * A store made anew under the same namespace and prefix, while runs of the old one wait: its
 * numbers come again for other rows, and Temporal still has the runs.
 *
 * @slow
 */

let muster: OwnMuster;
let receiver: Receiver;
beforeEach(async () => {
  calls.splice(0);
  asked.splice(0);
  receiver = await startReceiver();
  muster = await openOwn([plain, laned, other, accepting]);
});
afterEach(async () => {
  await muster.stop();
  await receiver.close();
});

const CALLBACKS: Partial<NodeOptions> = { callbacks: { allow: ['127.0.0.1:*'], secret: SECRET } };
const SWEEPS: Partial<NodeOptions> = { ...CALLBACKS, sweepEveryMs: 300, leaseMs: 1_500 };
const query = async (text: string): Promise<Record<string, unknown>[]> =>
  (await muster.database.pool.query(text)).rows as Record<string, unknown>[];
const succeeds = (...ids: string[]): Promise<unknown> => {
  const all = `select from task_state where state = 4 and id in ('${ids.join(`', '`)}')`;
  return eventually(async () => (await query(all)).length === ids.length, {
    timeoutMs: 60_000,
    what: `${ids.join(', ')} to succeed`,
  });
};
/** Returns a client as of a process that knows the new store only. */
const makeAnew = async (handlers: readonly Handler[]): Promise<Client> => {
  await query(`
truncate handler, leader, target, task, queue, delayed, batch, member, outcome, dispatch, node, lease, recipient,
  lane, lane_state, queuer, submitter restart identity cascade`);
  await query('insert into queuer (id) values (0)');
  await query('update installation set id = gen_random_uuid()');
  const { database, prefix } = muster;
  return createClient({ databaseUrl: database.url, prefix, temporal: { address: temporalAddress() }, handlers });
};

test('a leader of the old store: no handler is called with another’s tasks, and all are sent', async () => {
  const stop = await muster.startNode(SWEEPS);
  await muster.client.submit('plain', { id: 'tomorrow', payload: { to: 'x' }, notBefore: Date.now() + HOUR_MS });
  const old = await muster.leaderOf('plain');
  const { workflow } = await muster.client.temporal();
  const run = await eventually(async () => {
    const { runId, historyLength } = await workflow.getHandle(old.workflowId).describe();
    return historyLength > 4 && runId; // it waits
  });
  await stop();
  const fresh = await makeAnew([other, plain]);
  try {
    await fresh.submit('other', { id: 'other-1', payload: { to: 'x' }, notBefore: Date.now() + HOUR_MS });
    expect((await muster.leaderOf('other')).id).toBe(old.id);
    await query(`update delayed set not_before = clock() - interval '1 s'`);
    await query(`update target set due_at = clock() - interval '1 s'`);
    await workflow.getHandle((await muster.leaderOf('other')).workflowId).terminate();
    await fresh.submit('plain', { id: 'plain-1', payload: { to: 'x' } });
    await muster.startNode(); // does not sweep
    await eventually(
      async () =>
        calls.length > 0 || (await workflow.getHandle(old.workflowId, run).describe()).status.name !== 'RUNNING',
      { what: 'the old run to end' },
    );
    expect(calls).toEqual([]);
    await muster.startNode(SWEEPS);
    await succeeds('other-1', 'plain-1');
    expect(calls.sort()).toEqual(['other: other-1', 'plain: plain-1']);
  } finally {
    await fresh.close();
  }
});

test('a queuer, a monitor, the notifier of the old store: nothing old is called, all that is new goes on', async () => {
  const url = `${receiver.url}/old`;
  receiver.answer = (response) => void response.writeHead(503, { 'retry-after': '3600' }).end();
  const stop = await muster.startNode(CALLBACKS);
  await muster.client.submitBatch('laned', 'later', [{ id: 'old-laned', payload: { to: 'later' } }]);
  await muster.client.submit('accepting', { id: 'old-accepted', payload: { to: 'x' } });
  await muster.client.submit('plain', { id: 'old-told', payload: { to: 'y' }, callback: { url } });
  const waits = `
select from queuer, (select from batch where reference is not null) a, notification n
where queuer.state = 2 and n.attempts > 0 and n.next_at > clock()`;
  await eventually(async () => (await query(waits)).length === 1, { what: 'a queuer, a monitor and the notifier' });
  const { workflow } = await muster.client.temporal();
  const { prefix } = muster;
  const ids = [queuerWorkflowId(prefix, 0), monitorWorkflowId(prefix, 'accepting'), notifierWorkflowId(prefix)];
  const runs = await Promise.all(
    ids.map((id) =>
      eventually(
        async () => {
          const { runId, status, raw } = await workflow.getHandle(id).describe();
          const isBusy = (raw.pendingActivities?.length ?? 0) > 0 || raw.pendingWorkflowTask != null;
          return status.name === 'RUNNING' && !isBusy && workflow.getHandle(id, runId);
        },
        { what: `${id} to wait` },
      ),
    ),
  );
  await stop();
  const before = [calls.splice(0), asked.splice(0), receiver.received.splice(0).map(({ path }) => path)];
  expect(before).toEqual([expect.arrayContaining(['laned: old-laned', 'plain: old-told']), [], ['/old']]);

  receiver.answer = (response) => void response.writeHead(204).end();
  const fresh = await makeAnew([plain, laned, accepting]);
  try {
    await muster.startNode(SWEEPS);
    await fresh.submitBatch('laned', 'now', [{ id: 'new-laned', payload: { to: 'now' } }]);
    await fresh.submit('accepting', { id: 'new-accepted', payload: { to: 'x' } });
    const callback = { url: `${receiver.url}/new` };
    await fresh.submit('plain', { id: 'new-told', payload: { to: 'y' }, callback });
    await eventually(async () => (await query('select from batch where reference is not null')).length === 1, {
      what: 'the acceptance',
    });
    await query(`update batch set poll_at = clock() - interval '3 s' where reference is not null`);
    await succeeds('new-laned', 'new-accepted', 'new-told');
    await eventually(() => receiver.received.length > 0, { what: 'the callback' });
    expect(calls.sort()).toEqual(['laned: new-laned', 'plain: new-told']);
    expect(asked).toEqual(['new-accepted']);
    expect(receiver.received.map(({ path }) => path)).toEqual(['/new']);
    // Neither waits for its old hour.
    for (const run of runs) await eventually(async () => (await run.describe()).status.name !== 'RUNNING');
  } finally {
    await fresh.close();
  }
});
