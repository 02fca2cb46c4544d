import { defineHandler, RejectedError } from '../../handlers';
import type { Handler, HandlerOptions, SubmitAnswer } from '../../handlers';
import type { Client } from '../../client';
import { InvalidTaskError } from '../../client';
import { functionsOf } from '../executions/functions';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { reachesStatus } from '../helpers/reachesStatus';
import { expectWhole } from '../helpers/whole';
import { Downstream, items, okay } from '../lanes/downstream';

/** The client by its nouns, on real servers: what is done by a noun's verb is really done. @slow */

interface Job {
  to: string;
}
const calls: string[] = [];
const define = (name: string, more: Partial<HandlerOptions<Job>> = {}): Handler<Job> =>
  defineHandler<Job>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 20 },
    linger: { lingerMs: 20 },
    retry: { inPlace: { times: 0 } },
    bisect: false,
    submit: async (batch): Promise<SubmitAnswer> => {
      calls.push(...batch.tasks.map(({ id }) => id));
      if (batch.target === 'lost') throw new Error('connection reset');
      if (batch.target === 'accepting') return { status: 'accepted', reference: `job-${batch.id}` };
      if (batch.target === 'broken') return { status: 'rejected', error: 'no' };
      return okay(batch);
    },
    ...more,
  });
const jobs = define('jobs');
const slow = define('slow', { linger: { lingerMs: 600_000 } });
const placed = define('placed', { affinity: { partitions: 2 } });
const downstream = new Downstream();

let muster: TestMuster;
let client: Client;
beforeAll(async () => {
  downstream.answer = (batch) => {
    if (batch.tasks[0]!.payload.price === -1) throw new RejectedError('no');
    return okay(batch);
  };
  const edits = downstream.handler({ lane: { onInvalid: 'halt' }, idempotency: 'none' });
  muster = await startMuster([jobs, slow, placed, edits], {
    executions: { ...functionsOf({ echo: (args) => args.join(' ') }), rollCallMs: 500 },
    sweepEveryMs: 0, // which would ring what is not rung
  });
  ({ client } = muster);
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(client));

const task = (id: string, to: string): { id: string; payload: Job } => ({ id, payload: { to } });
const stateOf = async (id: string): Promise<string> =>
  (await client.tasks.waitFor(id, { timeoutMs: 60_000 }))[0]!.state;

describe('tasks', () => {
  test('tasks are submitted by handler or name, looked at, waited for and cancelled', async () => {
    expect(await client.tasks.submit(jobs, [task('t-1', 'se'), task('t-2', 'se')])).toMatchObject({ accepted: 2 });
    expect(await client.tasks.submit('slow', task('t-3', 'se'))).toMatchObject({ accepted: 1 });
    expect(await stateOf('t-1')).toBe('succeeded');
    expect((await client.tasks.lookUp(['t-3', 'none', 't-1'])).map(({ id }) => id)).toEqual(['t-3', 't-1']);
    expect(await client.tasks.explain('t-3')).toMatchObject({ waitsFor: 'linger' });
    expect(await client.tasks.cancel(['t-3', 't-1'])).toMatchObject({
      cancelled: ['t-3'],
      notCancelled: [{ id: 't-1', state: 'succeeded' }],
    });
    expect(await client.tasks.get('t-3')).toMatchObject({ state: 'cancelled' });
    expect(await client.tasks.get('none')).toBeNull();
    // @ts-expect-error: a payload of another shape, for the handler itself
    const wrong = client.tasks.submit(jobs, { id: 't-4', payload: { to: 7 } });
    await expect(wrong).rejects.toBeInstanceOf(InvalidTaskError);
  });

  test('tasks are redriven, and resolved', async () => {
    await client.tasks.submit('jobs', [task('f-1', 'broken'), task('u-1', 'lost'), task('u-2', 'lost')]);
    expect([await stateOf('f-1'), await stateOf('u-1'), await stateOf('u-2')]).toEqual([
      'failed',
      'unknown',
      'unknown',
    ]);
    expect(await client.tasks.redrive('jobs', { only: 'failed', ids: ['f-1'] })).toEqual({ redriven: 1 });
    await eventually(() => calls.filter((id) => id === 'f-1').length === 2);
    expect(await stateOf('f-1')).toBe('failed');
    expect(await client.tasks.resolve(['u-1'], { as: 'succeeded', result: 'by hand' })).toEqual({ resolved: 1 });
    expect(await client.tasks.get('u-1')).toMatchObject({ state: 'succeeded', result: 'by hand' });
    await expect(client.tasks.resolve(['u-1'], { as: 'failed' })).rejects.toMatchObject({ code: 'NOT_UNKNOWN' });
    expect(await client.resolve({ tasks: ['u-2'] }, { as: 'failed', error: 'lost' })).toEqual({ resolved: 1 });
    expect(await client.tasks.get('u-2')).toMatchObject({ state: 'failed', error: 'lost' });
  });
});

test('handlers: paused, resumed, flushed, with their definitions', async () => {
  expect(client.handlers.definition('jobs')).toBe(jobs);
  expect([...client.handlers.definitions.keys()]).toEqual(['jobs', 'slow', 'placed', 'edits']);
  expect(await client.handlers.pause('slow', { reason: 'stock-taking' })).toEqual({ paused: true });
  expect(await client.handlers.status('slow')).toMatchObject([{ handler: 'slow', paused: { reason: 'stock-taking' } }]);
  await client.tasks.submit('slow', task('h-1', 'no'));
  expect(await client.handlers.resume('slow')).toEqual({ resumed: true });
  expect(await client.handlers.status('slow')).toMatchObject([{ paused: null }]);
  expect(await client.handlers.flush('slow')).toEqual({ targets: 1, tasks: 1 });
  expect(await stateOf('h-1')).toBe('succeeded');
});

test('targets: one is paused, resumed, set and flushed, and its neighbour is not', async () => {
  await client.tasks.submit('slow', [task('g-1', 'x-1'), task('g-2', 'x-2')]);
  const shown = async () =>
    (await client.targets.list('slow', { after: 'x', limit: 2 })).map(({ key, paused, overrides }) => [
      key,
      paused?.reason,
      overrides,
    ]);
  await client.targets.pause('slow', 'x-1', { reason: 'closed' });
  await client.targets.set('slow', 'x-2', { maxItems: 5 });
  expect(await shown()).toEqual([
    ['x-1', 'closed', null],
    ['x-2', undefined, { maxItems: 5 }],
  ]);
  expect(await client.targets('slow', { after: 'x', limit: 1 })).toMatchObject([{ key: 'x-1' }]);
  await client.targets.resume('slow', 'x-1');
  await client.targets.set('slow', 'x-2', null);
  expect(await shown()).toEqual([
    ['x-1', undefined, null],
    ['x-2', undefined, null],
  ]);
  expect(await client.targets.flush('slow', 'x-1')).toEqual({ targets: 1, tasks: 1 });
  expect(await stateOf('g-1')).toBe('succeeded');
  expect((await client.tasks.get('g-2'))!.state).toBe('created');
  expect(await client.targets.flush('slow', 'x-2')).toEqual({ targets: 1, tasks: 1 });
  expect(await stateOf('g-2')).toBe('succeeded');
});

test('targets: rung after the commit of the caller’s transaction', async () => {
  const tx = await muster.database.pool.connect();
  try {
    await tx.query('begin');
    const { targetIds } = await client.tasks.submit('jobs', task('x-1', 'tx'), { tx });
    await tx.query('commit');
    await client.targets.ring(targetIds);
  } finally {
    tx.release();
  }
  expect(await stateOf('x-1')).toBe('succeeded');
});

test('batches: completed, resolved, shown with their receipts; of lanes submitted and cancelled', async () => {
  await client.tasks.submit('jobs', [task('b-1', 'accepting'), task('b-2', 'lost')]);
  const { batch, reference } = await eventually(async () => {
    const found = (await client.tasks.get('b-1'))!.batch;
    const view = found === null ? null : await client.batches.get(found);
    return view?.reference != null && { batch: view.id, reference: view.reference };
  });
  const told = { reference, results: [{ id: 'b-1', status: 'ok', result: 7 }] } as const;
  expect(await client.batches.complete('jobs', told)).toMatchObject({ batch, state: 'succeeded', repeated: false });
  expect(await client.batches.receipts(batch)).toMatchObject([{ id: 'b-1', receipt: 'valid', data: 7 }]);
  expect(await stateOf('b-2')).toBe('unknown');
  const parked = (await client.tasks.get('b-2'))!.batch!;
  expect(await client.batches.resolve(parked, { as: 'failed', error: 'lost' })).toEqual({ resolved: 1 });
  expect(await client.tasks.get('b-2')).toMatchObject({ state: 'failed', error: 'lost' });

  await client.queuers.pause();
  const [first, second] = await client.batches.submitMany('edits', [
    { service: 'b-lane', items: items('b-lane') },
    { service: 'b-lane', items: items('b-lane') },
  ]);
  const third = await client.batches.submit('edits', 'b-lane', items('b-lane'));
  expect(await client.batches.status(third.batch)).toMatchObject({ service: 'b-lane', place: 3 });
  expect(await client.batches.cancel(second!.batch)).toMatchObject({ batch: second!.batch, service: 'b-lane' });
  await client.queuers.resume();
  await reachesStatus(client, third.batch, 'committed');
  await reachesStatus(client, first!.batch, 'committed');
  expect(await client.batches.status(second!.batch)).toMatchObject({ status: 'cancelled' });
});

test('lanes: paused, weighed, resumed, fixed, skipped and rung', async () => {
  const submit = (price?: number) =>
    client.batches.submit('edits', 'l-1', items('l-1', 1, price === undefined ? {} : { price }));
  await reachesStatus(client, (await submit()).batch, 'committed');
  await client.lanes.pause('l-1', 'stock-taking');
  await client.lanes.setWeight('l-1', 3);
  const { batch: bad } = await submit(-1);
  expect(await client.lanes.get('l-1')).toMatchObject({ state: 'paused', reason: 'stock-taking', weight: 3, depth: 1 });
  await client.lanes.resume('l-1');
  await reachesStatus(client, bad, 'invalid');
  const fixed = await client.lanes.fix('l-1', { items: items('l-1', 1, { price: -1 }) });
  await reachesStatus(client, fixed.batch, 'invalid');
  expect(await client.lanes.skip('l-1')).toEqual({ batch: fixed.batch });
  await expect(client.lanes.skip('l-1')).rejects.toMatchObject({ code: 'NOT_HALTED' });
  expect((await client.lanes.list({ after: 'l-0', limit: 1 })).map(({ service }) => service)).toEqual(['l-1']);
  expect((await client.lanes({ after: 'l-0', limit: 1 })).map(({ service }) => service)).toEqual(['l-1']);

  const tx = await muster.database.pool.connect();
  try {
    await tx.query('begin');
    const { batch } = await client.batches.submit('edits', 'l-1', items('l-1'), { tx });
    await tx.query('commit');
    await client.lanes.ring(['l-1']);
    await reachesStatus(client, batch, 'committed');
  } finally {
    tx.release();
  }
});

test('queuers are set, paused and resumed', async () => {
  await client.queuers.set({ slots: 3, strategy: 'per-service' });
  await client.queuers.pause('the ledger moves');
  expect(await client.queuers.list()).toMatchObject([
    { slots: 3, strategy: 'per-service', paused: true, reason: 'the ledger moves' },
  ]);
  await client.queuers.resume();
  expect(await client.queuers.list()).toMatchObject([{ paused: false }]);
});

test('fan-outs and their items have their verbs', async () => {
  const { id } = await client.fanouts.open({ userKey: 'import-17' });
  const [first, ...rest] = await client.items.add(id, 3);
  for await (const part of client.items.addInParts(id, 2)) rest.push(...part);
  expect(await client.items.ack([first!, ...rest])).toMatchObject({ items: 5, acked: 5, completed: [] });
  expect(await client.items.reopen(first!)).toEqual({ items: 1, reopened: 1 });
  expect(await client.items.read([first!, rest[0]!])).toEqual([false, true]);
  expect(await client.fanouts.seal(id)).toMatchObject({ state: 'sealed', items: 5, completed: null });
  expect(await client.fanouts.get(id)).toMatchObject({ userKey: 'import-17', state: 'sealed', open: 1 });
  expect(await client.items.ack(first!)).toMatchObject({ completed: [{ id, items: 5 }] });
  expect(await client.fanouts.waitFor(id, { timeoutMs: 60_000 })).toMatchObject({ id, state: 'complete' });
  expect(await client.fanouts.reap({ keepEndedMs: 0 })).toMatchObject({ deletedFanouts: 1 });
  expect(await client.fanouts.get(id)).toBeNull();
});

test('executions, nodes and partitions have their verbs', async () => {
  const execution = await client.executions.execute({ functionId: 'echo', method: 'run' }, [['a', 'b'], ['c']]);
  expect(await execution.wait({ timeoutMs: 60_000 })).toMatchObject({ state: 'done', counts: { done: 2 } });
  expect(await client.executions.getHandle(execution.id).progress()).toMatchObject({ share: 1 });
  expect((await client.executions.list({ limit: 1 })).map(({ id }) => id)).toEqual([execution.id]);
  expect((await client.executions({ limit: 1 })).map(({ id }) => id)).toEqual([execution.id]);

  const [node] = await client.nodes.list();
  expect(await client.nodes()).toMatchObject([{ id: node!.id }]);
  expect(await client.partitions.move('placed/1', node!.id)).toEqual({ partition: 'placed/1', pinnedTo: node!.id });
  expect(await client.partitions.list({ handler: 'placed' })).toMatchObject([
    { pinnedTo: null },
    { pinnedTo: node!.id },
  ]);
  expect(await client.partitions({ handler: 'placed' })).toHaveLength(2);
  expect(await client.nodes.drain(node!.id)).toEqual({ nodes: [node!.id], drained: true });
  expect(await client.nodes.list()).toMatchObject([{ drained: true }]);
  await client.nodes.drain(node!.id, { undo: true });
  expect(await client.nodes.list()).toMatchObject([{ drained: false }]);
});
