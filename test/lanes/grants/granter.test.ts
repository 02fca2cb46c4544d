import type { Client as TemporalClient } from '@temporalio/client';
import pino from 'pino';
import { grantLanes } from '../../../activities/lanes/grant';
import { LaneGranters, split } from '../../../activities/lanes/granter';
import type { GranterDeps } from '../../../activities/lanes/granter';
import { grantNext } from '../../../activities/lanes/nextGrants';
import { DEFAULT_NODE_SETTINGS } from '../../../activities/nodes/settings';
import { Requests } from '../../../workflows/temporal/requests';
import { eventually } from '../../helpers/eventually';
import { Downstream, items } from '../downstream';
import type { LaneStore } from '../laneStore';
import { openLaneStore } from '../laneStore';

test('a waiting slot is given up or waits on, whenever its time comes: it is never lost in between', () => {
  let nowMs = 0;
  // Time goes on with each look at the clock: the third one is over between two looks.
  const isOver = (untilMs: number): boolean => untilMs < ++nowMs;
  expect(split([9, 0, 4, 9], isOver)).toEqual([[0], [9, 4, 9]]);
  nowMs = 0;
  const [over, waiting] = split([2, 3, 4], isOver);
  expect([...over, ...waiting].sort()).toEqual([2, 3, 4]);
});

describe('a free slot of a process that has the handler `edits` alone', () => {
  const edits = new Downstream().handler();
  const log = pino({ level: 'silent' });
  let shop: LaneStore;
  let turn = 0;
  beforeEach(async () => {
    shop = await openLaneStore([edits, new Downstream().handler({ name: 'elsewhere' })]);
    await shop.pretendWorker(['edits', 'elsewhere']);
    await shop.client.setQueuer({ slots: 2 });
  });
  afterEach(() => shop.stop());

  const submit = async (service: string, handler = 'edits'): Promise<number> =>
    (await shop.client.submitBatch(handler, service, items(service))).batch;
  /** A turn of the queuer: the submitters that it starts. */
  const take = async (): Promise<{ no: number; epoch: number }[]> => {
    const { submitters, epoch } = await grantLanes(
      { pool: shop.database.pool, leaseMs: 15_000, nodes: DEFAULT_NODE_SETTINGS, log },
      { queuerId: 0, runId: 'r', runStartedAtMs: 1, turn: ++turn, live: [], mayClaim: true },
    );
    return submitters.map(({ no }) => ({ no, epoch }));
  };
  const deps = () => ({ pool: shop.database.pool, handlers: new Map([[edits.name, edits]]), node: 'n' });
  const ask = async (submitter: { no: number; epoch: number }) => {
    const { batches, over } = await grantNext(deps(), 0, [{ ...submitter, slots: 1 }]);
    return { granted: [...batches.values()].flat().map(({ id }) => id), over: [...over] };
  };

  test('gets the batch that is next in turn', async () => {
    await submit('a');
    const [submitter] = await take();
    const next = await submit('b');
    const granter = new LaneGranters({ ...deps(), prefix: 'p', log } as unknown as GranterDeps).of(0);
    expect(await granter.next({ ...submitter!, isStopping: () => false })).toMatchObject({ id: next });
  });

  test('has its queuer woken for the other slots that are free, where there is more for them', async () => {
    await shop.client.setQueuer({ slots: 3 });
    await submit('a');
    const [submitter] = await take();
    await submit('b');
    await submit('c');
    await shop.client['connection'].settled();
    const woken: string[] = [];
    const workflow = { signalWithStart: (name: string) => (woken.push(name), Promise.resolve()) };
    const temporal = { withDeadline: (_: number, send: () => Promise<unknown>) => send(), workflow };
    const requests = new Requests(temporal as unknown as TemporalClient);
    const granter = new LaneGranters({ ...deps(), prefix: 'p', log, requests }).of(0);
    // As the turn left it that started the submitter; the wakes of the submits were lost.
    await shop.database.pool.query('update queuer set state = 0, woken_at = null, wake_at = null, expires_at = null');
    const next = (): Promise<unknown> => granter.next({ ...submitter!, isStopping: () => false });
    expect(await next()).not.toBeNull();
    await eventually(() => woken.length === 1, { timeoutMs: 10_000, what: 'a wake of the queuer' });
    expect(woken).toEqual(['queuer']);
  });

  test.each([
    ['there are fewer slots than are taken', () => shop.client.setQueuer({ slots: 1 })],
    ['everything is paused', () => shop.client.pauseQueuer()],
  ])('is given up at once, and gets nothing, where meanwhile %s', async (_, change) => {
    await submit('a');
    await submit('b');
    const [submitter] = await take();
    await submit('c');
    await change();
    expect(await ask(submitter!)).toEqual({ granted: [], over: [submitter!.no] });
  });

  test.each<[string, { target?: string }]>([
    ['its handler', {}],
    ['its target', { target: 'b' }],
  ])('gets no batch while %s is paused, and the batch once that goes on', async (_, what) => {
    await submit('a');
    const [submitter] = await take();
    const next = await submit('b');
    await shop.client.pause('edits', what);
    expect(await ask(submitter!)).toEqual({ granted: [], over: [] });
    await shop.client.resume('edits', what);
    expect(await ask(submitter!)).toEqual({ granted: [next], over: [] });
  });

  test('is given up at once where another process has the handler of the next in turn', async () => {
    await submit('a');
    const [submitter] = await take();
    const next = await submit('b', 'elsewhere');
    expect(await ask(submitter!)).toEqual({ granted: [], over: [submitter!.no] });
    expect((await shop.client.batchStatus(next))!.status).toBe('unsubmitted');
  });
});
