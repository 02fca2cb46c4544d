import { defineHandler } from '../../handlers';
import { lookSignal } from '../../workflows/definitions';
import { eventually } from '../helpers/eventually';
import type { Bench, Run } from './bench';
import { openBench } from './bench';
import { countOf } from './histories';
import type { OwnMuster } from './ownNode';
import { openOwn } from './ownNode';

/**
 * H5: the calls of a leader's run that is gone go on (their true answers count), so they hold their
 * slots until they end.
 */

let inFlight = 0;
let most = 0;
const calls: string[] = [];
let gate: Promise<void>;
let open: () => void;
const orders = defineHandler<{ to: string }>({
  name: 'orders',
  target: ({ to }) => to,
  limits: { maxItems: 1 },
  linger: { lingerMs: 0 },
  leaders: 1,
  concurrency: { perTarget: 1, perHandler: 1 },
  submit: async ({ tasks }) => {
    most = Math.max(most, ++inFlight);
    calls.push(...tasks.map(({ id }) => id));
    if (calls.length === 1) await gate;
    inFlight--;
    return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
  },
});

describe('a run is terminated while its call is out', () => {
  let muster: OwnMuster;
  beforeAll(async () => {
    gate = new Promise((resolve) => (open = resolve));
    muster = await openOwn([orders]);
    await muster.startNode();
  });
  afterAll(async () => {
    open();
    await muster.stop();
  });

  test('the next run makes no call before that one has ended, and then at once [H5]', async () => {
    const submit = (...ids: string[]): Promise<unknown> =>
      muster.client.submit(
        'orders',
        ids.map((id) => ({ id, payload: { to: id } })),
      );
    await submit('a', 'b');
    await eventually(() => calls.length === 1, { what: 'the first call' });
    const { epoch, workflowId } = await muster.leaderOf('orders');
    const { workflow } = await muster.client.temporal();
    await workflow.getHandle(workflowId).terminate('as the sweeper does with a run that does not get on');
    await submit('c', 'd'); // begins the next run; what the first one had in hand waits for its mark besides
    const takesTurns = async (): Promise<boolean> => {
      const leader = await muster.leaderOf('orders');
      return leader.epoch > epoch;
    };
    await eventually(takesTurns, {
      what: async () => `a turn of the next run; ${JSON.stringify(await muster.leaderOf('orders'))}`,
    });
    // It is woken again, and each time it finds the slot taken.
    const turnOf = async (): Promise<number> =>
      (await muster.database.pool.query<{ turn: number }>('select turn from leader')).rows[0]!.turn;
    const turn = await turnOf();
    await workflow.getHandle(workflowId).signal(lookSignal);
    await eventually(async () => (await turnOf()) > turn, { what: 'another turn' });
    expect(calls).toHaveLength(1);
    const signals = async (): Promise<number> =>
      countOf(await muster.historyOf('orders'), 'workflowExecutionSignaledEventAttributes');
    const before = await signals();
    open();
    await muster.client.waitFor(['a', 'b', 'c', 'd'], { timeoutMs: 60_000 });
    expect(most).toBe(1);
    expect([...calls].sort()).toEqual(['a', 'b', 'c', 'd']);
    expect(await signals()).toBeGreaterThan(before); // told that the slot is free: by itself it looks every ten seconds
  });
});

describe('slots of a run that is gone', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench([orders]);
    await bench.client.submit(
      'orders',
      ['x', 'y', 'z'].map((to) => ({ id: to, payload: { to } })),
    );
  });
  afterEach(() => bench.stop());
  const first: Run = { runId: 'first', runStartedAtMs: 1_000 };
  const second: Run = { runId: 'second', runStartedAtMs: 2_000 };
  const seen = (seconds: number): Promise<unknown> =>
    bench.database.pool.query(`update dispatch set seen_at = clock() - $1 * interval '1 s'`, [seconds]);

  test('are held until 15 s after the last sign of life; the run’s own are free at once when it knows of them no more [H5]', async () => {
    expect((await bench.turn(first, 1)).dispatch).toMatchObject({ slots: 1 });
    await seen(14);
    const waits = await bench.turn(second, 1);
    expect(waits).toMatchObject({ dispatch: null, next: 'waiting' });
    expect(waits.dueInMs).toBeLessThanOrEqual(10_000);
    await seen(16);
    expect((await bench.turn(second, 2)).dispatch).toMatchObject({ slots: 1 });
    expect((await bench.database.pool.query('select from dispatch')).rowCount).toBe(1);
    expect((await bench.turn(second, 3, { live: [] })).dispatch).toMatchObject({ slots: 1 });
  });
});
