import { randomUUID } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';
import pino from 'pino';
import { submitBatches } from '../../activities/submit';
import type { NodeOptions } from '../../workers/nodeOptions';
import { SilentRuns } from '../../workers/sweeper/silentRuns';
import type { SilentRun } from '../../workers/sweeper/stuckRuns';
import { leaderWorkflowId, monitorWorkflowId, notifierWorkflowId, queuerWorkflowId } from '../../workflows/naming';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import { expectPermitted, recordMoves } from '../helpers/transitions/recorded';
import { SECRET } from '../services/notifier/receiver';
import type { OwnMuster } from '../workflows/ownNode';
import { openBench } from '../workflows/bench';
import { openOwn } from '../workflows/ownNode';
import { ONE_SHOT, TYPES } from './kinds';
import { otherVersion } from './typeWorld';
import { accepting, asked, calls, gate, HOUR_MS, interrupted, laned, other, plain } from './handlers';
import { Requests } from '../../workflows/temporal/requests';

/**
 * The sweeper's heal in a whole Muster: real store, real runs, and what it means for tasks.
 *
 * @slow
 */

let muster: OwnMuster;
beforeEach(async () => {
  calls.splice(0);
  asked.splice(0);
  interrupted.splice(0);
  gate.open = Promise.resolve();
  muster = await openOwn([plain, laned, other, accepting]);
  await recordMoves(muster.database.pool);
});
afterEach(async () => {
  await expectPermitted(muster.database.pool);
  await muster.stop();
});

const SWEEPS: Partial<NodeOptions> = {
  sweepEveryMs: 300,
  leaseMs: 1_500,
  stuck: { versionMs: 500, silentMs: 2_000, attempts: 2 },
};
const query = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
  (await muster.database.pool.query(text, values)).rows as Record<string, unknown>[];
const stateOf = async (id: string): Promise<unknown> =>
  (await query('select state from task_state where id = $1', [id]))[0]?.['state'];
const succeeds = (...ids: string[]): Promise<unknown> =>
  eventually(async () => (await Promise.all(ids.map(stateOf))).every((state) => state === 4), {
    timeoutMs: 60_000,
    what: `${ids.join(', ')} to succeed`,
  });
/** Both kinds of work wait for an hour, in open runs. */
const bothWait = async (): Promise<void> => {
  await muster.client.submit('plain', { id: 'tomorrow', payload: { to: 'x' }, notBefore: Date.now() + HOUR_MS });
  await muster.client.submitBatch('laned', 'later', [{ id: 'refused', payload: { to: 'later' } }]);
  await eventually(() => calls.includes('laned: refused'), { what: 'the lane’s call' });
  await eventually(async () => (await query('select from queuer where state = 2')).length === 1, {
    what: 'a waiting queuer',
  });
};
const sendBoth = async (round: string): Promise<void> => {
  await muster.client.submit('plain', { id: `plain-${round}`, payload: { to: 'x' } });
  await muster.client.submitBatch('laned', 'now', [{ id: `laned-${round}`, payload: { to: 'now' } }]);
  await succeeds(`plain-${round}`, `laned-${round}`);
};

test('the workers are replaced by incompatible code, without versioning, and rolled back: tasks and lanes go on each time', async () => {
  const stopOld = await muster.startNode(SWEEPS);
  await bothWait();
  await stopOld();
  const stopNew = await muster.startNode({ ...SWEEPS, workflowBundle: await otherVersion('incompatible') });
  await sendBoth('new');
  await stopNew();
  await muster.startNode(SWEEPS);
  await sendBoth('rolled-back');
  expect(calls.sort()).toEqual([
    'laned: laned-new',
    'laned: laned-rolled-back',
    'laned: refused',
    'plain: plain-new',
    'plain: plain-rolled-back',
  ]);
});

test('workers come back with code that cannot replay its own histories: tasks and lanes go on', async () => {
  const workflowBundle = await otherVersion('forgetful');
  const stop = await muster.startNode({ ...SWEEPS, workflowBundle });
  await bothWait();
  await stop();
  const stopAgain = await muster.startNode({ ...SWEEPS, workflowBundle });
  await sendBoth('again');
  await stopAgain();
  await muster.startNode({ ...SWEEPS, workflowBundle });
  await sendBoth('once-more');
  expect(calls.sort()).toEqual([
    'laned: laned-again',
    'laned: laned-once-more',
    'laned: refused',
    'plain: plain-again',
    'plain: plain-once-more',
  ]);
});

test('runs whose workflow tasks fail for a signal are begun anew by the sweeper; a call in flight ends undisturbed, and its true answer counts', async () => {
  let open = (): void => undefined;
  gate.open = new Promise((resolve) => (open = resolve));
  const warnings: { msg: string; type?: string }[] = [];
  const log = pino(
    { level: 'warn' },
    { write: (line: string) => void warnings.push(JSON.parse(line) as { msg: string }) },
  );
  const workflowBundle = await otherVersion('strict');
  await muster.startNode({ ...SWEEPS, workflowBundle, log, callbacks: { allow: ['127.0.0.1:*'], secret: SECRET } });
  await bothWait();
  await muster.client.submit('plain', { id: 'in-flight', payload: { to: 'gate' } });
  await eventually(() => calls.includes('plain: in-flight'), { what: 'the call' });
  await muster.client.submit('accepting', { id: 'accepted', payload: { to: 'x' } });
  await eventually(async () => (await query('select from batch where reference is not null')).length === 1, {
    what: 'the acceptance',
  });
  // Delivered to nobody, and tried again: the notifier waits.
  await muster.client.submit('plain', { id: 'told', payload: { to: 'y' }, callback: { url: 'http://127.0.0.1:1/' } });
  await eventually(
    async () => (await query('select from notification where attempts > 0 and next_at > clock()')).length === 1,
    { what: 'a notifier that waits' },
  );
  const { prefix } = muster;
  const ids = [
    leaderWorkflowId(prefix, 'plain', '0', 1),
    queuerWorkflowId(prefix, 0),
    monitorWorkflowId(prefix, 'accepting'),
    notifierWorkflowId(prefix),
  ];
  const temporal = await muster.client.temporal();
  await Promise.all(
    ids.map((workflowId) =>
      temporal.workflowService.signalWorkflowExecution({
        namespace: 'default',
        workflowExecution: { workflowId },
        signalName: 'look',
        input: { payloads: [{ metadata: { encoding: Buffer.from('binary/encrypted') }, data: Buffer.from('?') }] },
        requestId: randomUUID(),
      }),
    ),
  );
  await query(`update batch set poll_at = clock() - interval '3 s' where reference is not null`);
  await query(`update notification set next_at = clock() - interval '3 s'`);
  await sendBoth('healed');
  // A leader that took the turn of that wake before its task failed has nothing due now: the next
  // task finds it stuck.
  await sendBoth('again');
  await succeeds('accepted');
  const stuck = (): unknown[] => warnings.filter(({ msg }) => /stuck run/.test(msg)).map(({ type }) => type);
  await eventually(() => stuck().length >= 4, { what: () => `four runs begun anew, not ${JSON.stringify(warnings)}` });
  expect(stuck().sort()).toEqual(['leader', 'monitor', 'notifier', 'queuer']);
  // A dispatch hears that its run is gone with a heartbeat, every 8 s: its call goes on, and
  // holds its slot.
  const until = performance.now() + rounds(10_000, 20_000);
  await eventually(() => performance.now() > until || interrupted.length > 0, { what: 'a heartbeat, or two' });
  expect(interrupted).toEqual([]);
  expect(await query('select from dispatch')).toHaveLength(1);
  open();
  await succeeds('in-flight');
  expect(calls.filter((call) => call === 'plain: in-flight')).toHaveLength(1);
  await eventually(async () => (await query('select from dispatch')).length === 0, { what: 'the slot given back' });
});

/** By type, what it takes itself for. */
const STRANGERS: [type: string, args: unknown[]][] = [
  ['leader', [{ leaderId: 4_711, handler: 'plain', name: '0', dueInMs: 0 }]],
  ['leader', [{}]],
  ['queuer', [{ queuerId: 4_711 }]],
  ['queuer', [{}]],
  ['execution', [{ executionId: randomUUID() }]],
  ['execution', [{ executionId: 'orders' }]],
  ['balancer', [{}]],
  ['notifier', []],
  ['monitor', [{ handler: 'accepting' }]],
  ['completion', [{}]],
];
/** Under an id that is no handler's it cannot know what to ask about, and says so. */
const FAILS = ['monitor'];
test('a run of what the store does not have, or has nothing to do for, ends by itself', async () => {
  expect([...new Set(STRANGERS.map(([type]) => type))].sort()).toEqual([...TYPES, ...ONE_SHOT].sort());
  await muster.startNode();
  const { workflow } = await muster.client.temporal();
  const taskQueue = muster.prefix;
  const ends = STRANGERS.map(async ([type, args], i) => {
    const handle = await workflow.start(type, { workflowId: `${taskQueue}/by-hand/${i}`, taskQueue, args });
    const end = await eventually(
      async () => {
        const { status } = await handle.describe();
        return status.name === 'RUNNING' ? null : status.name;
      },
      { what: `the end of ${type} ${JSON.stringify(args)}` },
    );
    expect([type, end]).toEqual([type, FAILS.includes(type) ? 'FAILED' : 'COMPLETED']);
  });
  await Promise.all(ends);
});

test('a dispatch refuses batches of another handler', async () => {
  const bench = await openBench([other, plain]);
  try {
    await bench.client.submit('other', { id: 'o', payload: { to: 'x' } });
    const answer = await bench.turn({ runId: 'run', runStartedAtMs: 1 }, 1);
    const deps = await bench.dispatch(answer, plain);
    const run = new MockActivityEnvironment().run(() => submitBatches(deps, deps.input));
    await expect(run).rejects.toThrow(/Cannot send batch 1: it is of handler other/);
    expect(calls).toEqual([]);
  } finally {
    await bench.stop();
  }
});

test('every type of workflow has its way into the sweeper’s list of silent runs', async () => {
  const { database, prefix } = muster;
  const temporal = await muster.client.temporal();
  const silent = new SilentRuns({
    pool: database.pool,
    requests: new Requests(temporal),
    prefix,
    log: pino({ level: 'silent' }),
  });
  await muster.client.submit('plain', { id: 'one', payload: { to: 'x' } });
  await muster.client.submitBatch('laned', 'now', [{ id: 'two', payload: { to: 'now' } }]);
  const id = randomUUID();
  await query(
    `insert into execution (id, function_id, method, config, state, items, n_created, created_at) values ($1, 'f', 'm', '{}', 0, 1, 1, clock())`,
    [id],
  );
  const note = async (isDue: boolean): Promise<void> => {
    silent.noteNotifier(isDue);
    silent.noteMonitors(isDue ? ['plain'] : []);
    await silent.noteBalancer(isDue);
    await silent.noteExecutions(isDue ? [id] : []);
  };
  const list = async (): Promise<string[]> => {
    await note(true);
    return (await silent.list()).map(({ type }: SilentRun) => type).sort();
  };
  await eventually(async () => (await list()).length === TYPES.length, {
    what: async () => `all types, not ${(await list()).join()}`,
  });
  expect(await list()).toEqual([...TYPES].sort());
  silent.forget(); // what the store does not say
  expect((await silent.list()).map(({ type }) => type).sort()).toEqual(['leader', 'queuer']);
  // Each has moved on: a turn, or nothing that is overdue.
  await query('update leader set woken_at = null');
  await query('update queuer set woken_at = null');
  await query('update execution set turn = turn + 1');
  await note(false);
  // A queuer that has not ended may still wait in vain for what it started.
  expect((await silent.list()).map(({ type, silentMs }) => [type, silentMs])).toEqual([['queuer', 0]]);
  await query('update queuer set state = 0, wake_at = null, expires_at = null');
  expect(await silent.list()).toEqual([]);
});
