import type { Client as TemporalClient } from '@temporalio/client';
import { defineHandler } from '../../../handlers';
import type { Handler, HandlerOptions } from '../../../handlers';
import { wakeMonitor } from '../../../workflows/wake';
import { eventually } from '../../helpers/eventually';
import { lateAnswer } from '../../helpers/lateAnswer';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { expectWhole } from '../../helpers/whole';
import { Requests } from '../../../workflows/temporal/requests';

/**
 * H7: completion by signal, as a client of any language sends it: names and plain JSON, nothing of
 * ours.
 *
 * @slow
 */

let muster: TestMuster;
let temporal: TemporalClient;
const gates = new Map<string, ReturnType<typeof lateAnswer>>();
const define = (name: string, more: Partial<HandlerOptions> = {}): Handler =>
  defineHandler({
    name,
    target: (payload) => (payload as { to: string }).to,
    limits: { maxItems: 2_000 },
    linger: { lingerMs: 20 },
    submit: async (batch) => {
      await gates.get(batch.target)?.promise;
      return { status: 'accepted', reference: `${batch.target}/1` };
    },
    ...more,
  });
beforeAll(async () => {
  muster = await startMuster([
    define('told'),
    define('alone'),
    define('storm'),
    define('lane', { service: (target) => target }),
  ]);
  temporal = await muster.client.temporal();
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));

const monitorId = (handler: string): string => `${muster.prefix}/monitor/${handler}`;
/** As docs/handlers/asynchronous.md tells a foreign client. */
const signal = (handler: string, told: unknown): Promise<unknown> =>
  temporal.workflow.signalWithStart('monitor', {
    workflowId: monitorId(handler),
    taskQueue: muster.prefix,
    args: [{ handler }],
    signal: 'complete',
    signalArgs: [told],
  });
const submit = async (handler: string, to: string, n = 2): Promise<string[]> => {
  const ids = Array.from({ length: n }, (_, i) => `${to}-${i}`);
  await muster.client.submit(
    handler,
    ids.map((id) => ({ id, payload: { to } })),
  );
  return ids;
};
const isThere = (sql: string, to: string) =>
  eventually(async () => (await muster.database.pool.query(sql, [to])).rows.length > 0);
const OF_TARGET = 'select from batch b join target t on t.id = b.target_id where t.key = $1';
const isAccepted = (to: string) => isThere(`${OF_TARGET} and b.reference is not null`, to);
const isCalled = (to: string) => isThere(`${OF_TARGET} and b.attempt_until is not null`, to);
const become = (ids: readonly string[], expected: string) =>
  eventually(async () => (await muster.client.getTasks(ids)).map(({ state }) => state).join() === expected, {
    what: async () => `${expected}: ${JSON.stringify(await muster.client.getTasks(ids))}`,
    timeoutMs: 180_000, // each settles in a moment, and a storm of them on a busy machine in minutes
  });
const oks = (ids: readonly string[]) => ids.map((id) => ({ id, status: 'ok', result: 'signalled' }));
const completionsOf = (handler: string) =>
  temporal.workflow.list({ query: `WorkflowId STARTS_WITH '${muster.prefix}/completion/${handler}/'` });
/**
 * Completions that were signalled a second time and taken as the same, as the histories of the
 * monitor's runs say.
 */
const repeats = async (handler: string): Promise<number> => {
  let n = 0;
  for await (const { runId } of temporal.workflow.list({ query: `WorkflowId = '${monitorId(handler)}'` })) {
    const { events } = await temporal.workflow.getHandle(monitorId(handler), runId).fetchHistory();
    for (const { activityTaskCompletedEventAttributes: completed } of events ?? []) {
      const data = completed?.result?.payloads?.[0]?.data ?? null;
      if (data !== null) n += (JSON.parse(Buffer.from(data).toString()) as { repeated?: number }).repeated ?? 0;
    }
  }
  return n;
};
/** What came of the completions that workflows of their own took. */
const answers = async (handler: string): Promise<Record<string, unknown>[]> => {
  const found: Record<string, unknown>[] = [];
  for await (const { workflowId, status } of completionsOf(handler))
    if (status.name !== 'RUNNING')
      found.push(...((await temporal.workflow.getHandle(workflowId).result()) as Record<string, unknown>[]));
  return found;
};
const answered = (handler: string, expected: object) =>
  eventually(
    async () => {
      const all = await answers(handler);
      return all.some((one) =>
        Object.entries(expected).every(([key, value]) =>
          value instanceof RegExp ? value.test(String(one[key])) : one[key] === value,
        ),
      );
    },
    {
      what: async () => `${JSON.stringify(expected)} among ${JSON.stringify(await answers(handler))}`,
      timeoutMs: 30_000,
    },
  );

test('a signal to the monitor completes a batch by reference; the same again is a repeat, anything else is refused and told in the history [H7]', async () => {
  const ids = await submit('told', 'one');
  await isAccepted('one');
  await signal('told', { reference: 'one/1', results: oks(ids) });
  await become(ids, 'succeeded,succeeded');
  expect((await muster.client.getTask(ids[1]!))!.result).toBe('signalled');
  await signal('told', { reference: 'one/1', results: oks(ids) });
  await eventually(async () => (await repeats('told')) === 1);
  await signal('told', { reference: 'one/1', status: 'failed' });
  await answered('told', { kind: 'stale', state: 'succeeded' });
  await signal('told', { reference: 'nowhere', results: [] });
  await answered('told', { kind: 'unknown-batch' });
  await signal('told', 'nonsense');
  await answered('told', { kind: 'unreadable', error: /^completion: .*"nonsense"/ });
  await signal('told', {});
  await answered('told', { kind: 'unreadable', error: /^reference: expected either/ });
  await signal('told', null);
  await answered('told', { kind: 'unreadable', error: /^completion: expected an object.*null/ });
});

test('more than 1,000 results by signal are refused, with where to send them; 1,000 are taken [H7]', async () => {
  const ids = await submit('told', 'many', 1_001);
  await isAccepted('many');
  await signal('told', { reference: 'many/1', results: oks(ids) });
  await answered('told', { kind: 'unreadable', error: /at most 1000 by signal, got 1001; use client.complete/ });
  await signal('told', { reference: 'many/1', status: 'expired', results: oks(ids.slice(0, 1_000)) });
  await eventually(async () => (await muster.client.getTask('many-999'))!.state === 'succeeded');
  const { rows } = await muster.database.pool.query<{ n: number }>({
    text: `select count(*) as n from task_state where state = 4 and id like 'many-%'`,
  });
  expect(rows[0]!.n).toBe(1_000);
});

test('accepted between the look for its reference and the look whether a call is under way: it counts [H7]', async () => {
  gates.set('between', lateAnswer());
  const ids = await submit('told', 'between');
  await isCalled('between');
  const { pool } = muster.database;
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  pool.query = (async (...args: unknown[]) => {
    if ((args[0] as { name?: string }).name === 'is-calling') {
      pool.query = query as typeof pool.query;
      gates.get('between')!.open();
      await isAccepted('between');
    }
    return query(...args);
  }) as typeof pool.query;
  await signal('told', { reference: 'between/1', results: oks(ids) });
  await become(ids, 'succeeded,succeeded');
});

test('with no monitor running, the signal starts it; before the acceptance is written it is tried again until it counts [H7]', async () => {
  gates.set('early', lateAnswer());
  const ids = await submit('alone', 'early');
  // In its call: before it nobody can tell, and what is told then is told of an unknown batch.
  await isCalled('early');
  await expect(temporal.workflow.getHandle(monitorId('alone')).describe()).rejects.toThrow(/not found/i);
  await signal('alone', { reference: 'early/1', results: oks(ids) });
  await eventually(async () => {
    for await (const { workflowId } of completionsOf('alone')) {
      const { raw } = await temporal.workflow.getHandle(workflowId).describe();
      // Told too early, so it is tried again.
      if (raw.pendingActivities?.some(({ attempt }) => (attempt ?? 0) > 1) === true) return true;
    }
    return false;
  });
  expect((await muster.client.getTask(ids[0]!))!.state).toBe('in-progress');
  gates.get('early')!.open();
  await become(ids, 'succeeded,succeeded');
  // Nothing is left: told to look, the run ends.
  await wakeMonitor(new Requests(temporal), muster.prefix, 'alone');
  await eventually(
    async () => (await temporal.workflow.getHandle(monitorId('alone')).describe()).status.name === 'COMPLETED',
    { timeoutMs: 30_000 },
  );
});

test('in a lane: the next batch goes after the signal [H7]', async () => {
  const first = (await muster.client.submitBatch('lane', 'po', [{ id: 'po-0', payload: { to: 'po' } }])).batch;
  const second = (await muster.client.submitBatch('lane', 'po', [{ id: 'po-1', payload: { to: 'po' } }])).batch;
  await eventually(async () => (await muster.client.batchStatus(first))!.status === 'pending');
  await signal('lane', { batchId: first, results: [{ index: 0, status: 'ok' }] });
  await eventually(async () => (await muster.client.batchStatus(second))!.status === 'pending');
  await signal('lane', { batchId: second, results: [{ index: 0, status: 'failed', error: 'closed' }] });
  await eventually(async () => (await muster.client.batchStatus(second))!.status === 'invalid');
});

test('many signals, and large ones: all are taken once, and the history is bounded by continuing as new [H7]', async () => {
  const real = Array.from({ length: 30 }, (_, i) => `storm${i}`);
  await muster.client.submit(
    'storm',
    real.map((to) => ({ id: `${to}-0`, payload: { to } })),
  );
  for (const to of real) await isAccepted(to);
  const large = 'x'.repeat(200_000); // 6 MB of history: the server suggests to continue as new
  const told = real.flatMap((to, i) => [
    { reference: `${to}/1`, results: [{ index: 0, status: 'ok' }] },
    { reference: `none${i}`, status: 'expired', error: large },
  ]);
  for (let i = 0; i < told.length; i += 10) await Promise.all(told.slice(i, i + 10).map((one) => signal('storm', one)));
  await become(
    real.map((to) => `${to}-0`),
    real.map(() => 'succeeded').join(),
  );
  const runs: string[] = [];
  await eventually(
    async () => {
      runs.length = 0;
      for await (const { status } of temporal.workflow.list({ query: `WorkflowId = '${monitorId('storm')}'` }))
        runs.push(status.name);
      return runs.includes('CONTINUED_AS_NEW');
    },
    { timeoutMs: 60_000, everyMs: 500, what: () => `runs: ${runs.join()}` },
  );
  expect(runs).not.toContain('TERMINATED');
  // Once each: what is told a second time would be refused as stale, or count an attempt more.
  expect((await muster.client.getTasks(real.map((to) => `${to}-0`))).map(({ attempts }) => attempts)).toEqual(
    real.map(() => 1),
  );
});
