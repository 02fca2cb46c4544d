import type { Client as TemporalClient } from '@temporalio/client';
import { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { defineHandler } from '../../handlers';
import type { ItemResult } from '../../handlers';
import { createClient } from '../../client';
import { describeRun } from '../../client/operations/describeRun';
import { EndedMonitors } from '../../workers/sweeper/endedMonitors';
import { listRuns } from '../../workers/temporal/listRuns';
import { completionWorkflowId, monitorWorkflowId } from '../../workflows/naming';
import { connectTo, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import type { UserWorker } from '../helpers/userWorker';
import { bundleWorkflows, startUserWorker } from '../helpers/userWorker';
import { expectWhole } from '../helpers/whole';
import { EncryptionCodec } from './codec';
import { Requests } from '../../workflows/temporal/requests';

/**
 * Everybody has the same encrypting codec, and it throws on whatever is not encrypted with its key.
 *
 * @slow
 */

const PAYLOAD = 'payload-in-clear';
const RESULT = 'result-in-clear';
const NOTE = 'note-in-clear';
const dataConverter: DataConverter = { payloadCodecs: [new EncryptionCodec()] };

let muster: TestMuster;
let worker: UserWorker;
/** With the codec, with another key, and with none. */
let knowing: TemporalClient;
let garbling: TemporalClient;
let plain: TemporalClient;
const calls: string[] = [];
beforeAll(async () => {
  muster = await startMuster(
    [
      defineHandler<{ to: string; note: string }>({
        name: 'jobs',
        target: ({ to }) => to,
        limits: { maxItems: 10 },
        linger: { lingerMs: 10 },
        submit: async ({ tasks }) => ({
          results: tasks.map(({ id, payload }) => ({
            id,
            status: 'ok' as const,
            result: `${RESULT} of ${payload.note}`,
          })),
        }),
      }),
      defineHandler<{ to: string }>({
        name: 'later',
        target: ({ to }) => to,
        limits: { maxItems: 10 },
        linger: { lingerMs: 10 },
        submit: async ({ target }) => ({ status: 'accepted', reference: target }),
        poll: { everyMs: 200, deadlineMs: 600_000 },
        status: async (references) =>
          references.map((reference) => ({
            reference,
            status: reference === 'asked' ? ('done' as const) : ('pending' as const),
          })),
        results: (reference) => [{ id: `${reference}-0`, status: 'ok' }] satisfies ItemResult[],
      }),
    ],
    {
      dataConverter,
      interceptors: {
        client: {
          workflow: [{ signalWithStart: (input, next) => (calls.push(`client ${input.workflowType}`), next(input)) }],
        },
        activity: [
          ({ info }) => ({
            inbound: { execute: (input, next) => (calls.push(`activity ${info.activityType}`), next(input)) },
          }),
        ],
      },
    },
  );
  const connection = await connectTo({ address: temporalAddress() });
  knowing = new Client({ connection, dataConverter });
  garbling = new Client({ connection, dataConverter: { payloadCodecs: [new EncryptionCodec()] } });
  plain = new Client({ connection });
  worker = await startUserWorker(muster, await bundleWorkflows(require.resolve('./workflows/user')), {}, dataConverter);
});
afterAll(async () => {
  await worker.stop();
  await knowing.connection.close();
  await muster.stop();
});
afterEach(() => expectWhole(muster.client));

/** All bytes of the histories of the workflows whose id begins so, as text. */
const historiesOf = async (start: string): Promise<{ ids: string[]; text: string }> => {
  const ids: string[] = [];
  let text = '';
  for await (const { workflowId, runId } of plain.workflow.list({ query: `WorkflowId STARTS_WITH '${start}'` })) {
    ids.push(workflowId);
    const { events } = await plain.workflow.getHandle(workflowId, runId).fetchHistory();
    text += bytesOf(events);
  }
  return { ids, text };
};
const bytesOf = (value: unknown): string => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(bytesOf).join('\n');
};

test('submitTask of a workflow with the codec: stored, sent, and its end comes back; no history holds the payload or the result', async () => {
  const workflowId = `${muster.prefix}/user/one`;
  const payload = { to: 'se', note: `${NOTE} ${PAYLOAD}` };
  const end = await knowing.workflow.execute('one', {
    workflowId,
    taskQueue: worker.taskQueue,
    args: [muster.prefix, 'first', payload],
    workflowExecutionTimeout: '120s',
  });
  expect(end).toBe(`${RESULT} of ${payload.note}`);
  expect(await muster.client.getTask('first')).toMatchObject({ state: 'succeeded', payload, result: end });
  const { ids, text } = await eventually(async () => {
    const found = await historiesOf(`${muster.prefix}/`);
    return ['user', 'leader', 'notifier'].every((kind) => found.ids.some((id) => id.includes(`/${kind}`))) && found;
  });
  expect(ids).toContain(workflowId);
  for (const word of [PAYLOAD, RESULT, NOTE]) expect(text).not.toContain(word);
  expect(text).toContain('binary/encrypted');
  expect(calls).toEqual(
    expect.arrayContaining(['client leader', 'client notifier', 'activity submitTasks', 'activity claimBatches']),
  );
});

const signal = (temporal: TemporalClient, told: unknown): Promise<unknown> =>
  temporal.workflow.signalWithStart('monitor', {
    workflowId: `${muster.prefix}/monitor/later`,
    taskQueue: muster.prefix,
    args: [{ handler: 'later' }],
    signal: 'complete',
    signalArgs: [told],
  });
const accepted = async (to: string): Promise<string> => {
  const id = `${to}-0`;
  await muster.client.submit('later', { id, payload: { to } });
  await eventually(() => isAccepted(to));
  return id;
};
const isAccepted = async (to: string): Promise<boolean> =>
  (await muster.database.pool.query('select from batch where reference = $1', [to])).rows.length > 0;
const becomes = (id: string, state: string): Promise<unknown> =>
  eventually(async () => (await muster.client.getTask(id))?.state === state, {
    what: async () => `${state}: ${JSON.stringify(await muster.client.getTask(id))}`,
  });
const answers = async (): Promise<{ kind: string; error?: string }[]> => {
  const found: { kind: string; error?: string }[] = [];
  const query = `WorkflowId STARTS_WITH '${muster.prefix}/completion/later/' and ExecutionStatus = 'Completed'`;
  for await (const { workflowId } of plain.workflow.list({ query }))
    found.push(...((await knowing.workflow.getHandle(workflowId).result()) as typeof found));
  return found;
};

test('a completion by signal without the codec, or with another key, is told to be unreadable, and the monitor goes on; with the codec it counts', async () => {
  const told = await accepted('told');
  await signal(plain, { reference: 'told', results: [{ id: told, status: 'failed', error: 'forged' }] });
  await signal(garbling, { reference: 'told', results: [{ id: told, status: 'failed', error: 'forged' }] });
  await eventually(async () => (await answers()).filter(({ kind }) => kind === 'unreadable').length === 2, {
    what: async () => `two unreadable ones: ${JSON.stringify(await answers())}`,
  });
  const errors = (await answers()).map(({ error }) => error);
  expect(errors).toContainEqual(expect.stringContaining('not encrypted: json/plain'));
  expect((await muster.client.getTask(told))!.state).toBe('in-progress');
  await becomes(await accepted('asked'), 'succeeded'); // asked about after them, by the same monitor
  await signal(knowing, { reference: 'told', results: [{ id: told, status: 'ok', result: RESULT }] });
  await becomes(told, 'succeeded');
  for (const kind of ['monitor', 'completion'])
    expect((await historiesOf(`${muster.prefix}/${kind}/`)).text).not.toContain(RESULT);
});

test('a run that was started without the codec ends, and the next one does the work', async () => {
  const clear = createClient({
    databaseUrl: muster.database.url,
    handlers: [...muster.node.deps.handlers.values()],
    prefix: muster.prefix,
    temporal: { address: temporalAddress() },
  });
  await clear.submit('jobs', { id: 'clear', payload: { to: 'clear', note: 'x' } });
  await clear.close();
  await becomes('clear', 'succeeded');
  const query = `WorkflowId STARTS_WITH '${muster.prefix}/leader/jobs/' and ExecutionStatus = 'Failed'`;
  const failed = await eventually(
    async () => (await plain.workflow.list({ query })[Symbol.asyncIterator]().next()).value,
  );
  const run = knowing.workflow.getHandle(failed.workflowId, failed.runId).result();
  await expect(run).rejects.toMatchObject({
    cause: { message: expect.stringContaining('Cannot read the input of this run: not encrypted: json/plain') },
  });
});

test('a completion that is started without the codec says that it cannot be read', async () => {
  const run = plain.workflow.execute('completion', {
    workflowId: `${muster.prefix}/completion/by-hand`,
    taskQueue: muster.prefix,
    args: [{ handler: 'later' }],
    workflowExecutionTimeout: '60s',
  });
  await expect(run).rejects.toThrow(); // its answer is encrypted
  const answer = await knowing.workflow.getHandle(`${muster.prefix}/completion/by-hand`).result();
  expect(answer).toMatchObject({ kind: 'unreadable', error: expect.stringContaining('not encrypted') });
});

test('a run with a memo that the codec of today cannot read is looked at, and listed', async () => {
  const workflowId = `${muster.prefix}/of-before`;
  const handle = await plain.workflow.start('of-before', {
    workflowId,
    taskQueue: 'nowhere',
    args: [],
    memo: { muster: 'leader' },
  });
  const runId = handle.firstExecutionRunId;
  await expect(knowing.workflow.getHandle(workflowId).describe()).rejects.toThrow(/not encrypted/);
  expect(await describeRun(() => Promise.resolve(knowing), workflowId)).toMatchObject({ workflowId, runId });
  const listed = await eventually(async () => {
    for await (const run of listRuns(knowing, `WorkflowId = '${workflowId}'`)) return run;
    return null;
  });
  expect(listed).toEqual({ workflowId, runId, status: 'RUNNING' });
  await handle.terminate('the test is done');
});

test('a monitor with such a memo, ended from outside, is found by the sweeper', async () => {
  const prefix = `${muster.prefix}-before`;
  const handle = await plain.workflow.start('monitor', {
    workflowId: monitorWorkflowId(prefix, 'later'),
    taskQueue: 'nowhere',
    args: [],
    memo: { muster: 'monitor' },
  });
  await handle.terminate('as an operator does');
  const counts = { endedMonitors: 0 };
  await eventually(async () => {
    await new EndedMonitors({ requests: new Requests(knowing), prefix, log: { warn: () => undefined } }).look(counts);
    return counts.endedMonitors === 1;
  });
  const reading = completionWorkflowId(prefix, 'later', `of-${handle.firstExecutionRunId}`);
  await plain.workflow.getHandle(reading).terminate('the test is done');
});
