import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { WorkflowFailedError } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { itemIds } from '../../client';
import type { FanoutEnded } from '../../workflows/definitions';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import type { UserWorker } from '../helpers/userWorker';
import { bundleWorkflows, startUserWorker } from '../helpers/userWorker';
import { expectWhole } from '../helpers/whole';
import type { Told, UserActivities } from './workflows/user';

/**
 * `temporal-muster/workflow`: a user's own workflow fans out and goes on when all is acked, through
 * a real Muster.
 */

const STORED = path.join(__dirname, 'histories', 'fan-out.user.json');

let workflowBundle: WorkflowBundleWithSourceMap;
let muster: TestMuster;
let worker: UserWorker;
/** What the consumers do with what is sent; by default they ack at once, twice. */
let send: UserActivities['sendMessages'];
const ackTwice: UserActivities['sendMessages'] = async (fanout, ranges) => {
  for (const _ of [1, 2]) await muster.client.ackItems(itemIds(fanout, ranges), { idsPerCall: 10_000 });
};

beforeAll(async () => {
  workflowBundle = await bundleWorkflows(require.resolve('./workflows/user'));
  muster = await startMuster([]);
  const activities: UserActivities = { sendMessages: (fanout, ranges) => send(fanout, ranges) };
  worker = await startUserWorker(muster, workflowBundle, activities);
});
afterAll(async () => {
  await worker.stop();
  await muster.stop();
});
beforeEach(() => void (send = ackTwice));

let runs = 0;
const start = async (name: string, ...args: unknown[]) =>
  (await muster.client.temporal()).workflow.start(name, {
    workflowId: `${muster.prefix}-run-${++runs}`,
    taskQueue: worker.taskQueue,
    args,
  });
const run = async <R>(name: string, ...args: unknown[]): Promise<R> =>
  (await start(name, ...args)).result() as Promise<R>;
const failureOf = async (work: Promise<unknown>): Promise<unknown> => {
  const error = await work.then(
    () => null,
    (caught: unknown) => caught,
  );
  return error instanceof WorkflowFailedError ? error.cause : error;
};

test('opens, adds, sends, seals, and goes on when all is acked: 30,000 items, no id in its history [D3]', async () => {
  const handle = await start('fanOut', [10_000, 1, 19_999], {
    prefix: muster.prefix,
    userKey: 'month',
    segmentSize: 8_000,
  });
  const told = (await handle.result()) as Told;
  expect(told.end).toMatchObject({ type: 'fanout.completed', userKey: 'month', items: 30_000 });
  expect(told.ranges.reduce((sum, { items }) => sum + items, 0)).toBe(30_000);
  expect(told.completeAtSeal).toBe(true);
  const history = JSON.stringify(historyToJSON(await handle.fetchHistory()));
  expect(history).not.toContain(`${told.end.fanout}:`);
  expect(history.length).toBeLessThan(60_000);
  await expectWhole(muster.client);
});

test('the last ack comes after the seal: the signal wakes the workflow, once [D3]', async () => {
  let sent: string[] = [];
  send = async (fanout, ranges) => void (sent = [...itemIds(fanout, ranges)]);
  const handle = await start('fanOut', [500], { prefix: muster.prefix });
  await eventually(
    async () => sent.length === 500 && (await muster.client.getFanout(sent[0]!.split(':')[0]!))!.state === 'sealed',
  );
  await muster.client.ackItems(sent);
  const told = (await handle.result()) as Told;
  expect(told).toMatchObject({ completeAtSeal: false, end: { type: 'fanout.completed', items: 500 } });
  const { events } = await handle.fetchHistory();
  expect(events!.filter((event) => event.workflowExecutionSignaledEventAttributes != null)).toHaveLength(1);
  if (process.env['MUSTER_RECORD'] !== undefined) {
    const json = historyToJSON(await handle.fetchHistory()).replace(/"identity": "[^"]*"/g, '"identity": "recorded"');
    mkdirSync(path.dirname(STORED), { recursive: true });
    writeFileSync(STORED, `${json}\n`);
  }
});

test('it may continue as new while the items are on their way; two at once get each its own end', async () => {
  const held: (() => Promise<void>)[] = [];
  send = async (fanout, ranges) => void held.push(() => ackTwice(fanout, ranges));
  const handle = await start('continued', { prefix: muster.prefix });
  const { runId } = await handle.describe();
  const current = (await muster.client.temporal()).workflow.getHandle(handle.workflowId);
  await eventually(async () => (await current.describe()).runId !== runId);
  await held[0]!();
  expect(await current.result()).toMatchObject({ type: 'fanout.completed', items: 10 });
  send = ackTwice;
  expect(await run<FanoutEnded>('continued', { prefix: muster.prefix })).toMatchObject({ items: 10 }); // complete before the second run asks
  expect(await run('sideBySide', { prefix: muster.prefix })).toEqual(['a', 'b']);
});

test('what cannot be is refused at once, with a type of its own [D1]', async () => {
  expect(await failureOf(run('addAfterSeal', { prefix: muster.prefix }))).toMatchObject({
    type: 'MusterFanoutSealed',
    message: expect.stringContaining('is complete: nothing can be added after the seal'),
  });
  expect(await failureOf(run('fanOut', [0], { prefix: muster.prefix }))).toMatchObject({
    type: 'MusterInvalidFanout',
    message: expect.stringMatching(/items: expected a whole number from 1 to \d+, got 0/),
  });
  expect(await failureOf(run('fanOut', [1], { prefix: muster.prefix, segmentSize: 9_000 }))).toMatchObject({
    type: 'MusterInvalidFanout',
    message: expect.stringContaining('segmentSize'),
  });
});

test('replay: the histories of this run and the stored one; a changed workflow fails', async () => {
  const client = await muster.client.temporal();
  for (let i = 1; i <= runs; i++) {
    const id = `${muster.prefix}-run-${i}`;
    await Worker.runReplayHistory({ workflowBundle }, await client.workflow.getHandle(id).fetchHistory(), id);
  }
  const stored: unknown = JSON.parse(readFileSync(STORED, 'utf8'));
  await Worker.runReplayHistory({ workflowBundle }, stored, 'stored/fan-out');
  const changed = await bundleWorkflows(require.resolve('./workflows/changed'));
  await expect(Worker.runReplayHistory({ workflowBundle: changed }, stored, 'stored/fan-out')).rejects.toThrow(
    /[Nn]ondetermini/,
  );
});
