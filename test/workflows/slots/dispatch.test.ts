import { setTimeout as sleep } from 'node:timers/promises';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { Allowance } from '../../../activities/calls/allowance';
import { DispatchRun } from '../../../activities/calls/dispatchRun';
import { Schedule } from '../../../activities/calls/schedule';
import { defineHandler } from '../../../handlers';
import type { HandlerOptions } from '../../../handlers';
import { readDispatch } from '../../../postgres/calls/batch';
import type { DispatchAnswer } from '../../../workflows/messages';
import { eventually } from '../../helpers/eventually';
import type { Bench } from '../bench';
import { openBench } from '../bench';

/** One dispatch, run by the test: what it begins, gives back, and offers to its leader. */

const run = { runId: 'run', runStartedAtMs: 1_000 };
const SILENT = new DefaultLogger('ERROR', () => undefined);
const calls: string[] = [];
/** Calls of these targets last until they are let go. */
const gates = new Map<string, Promise<void>>();
const opens: (() => void)[] = [];
const gated = (target: string): (() => void) => {
  let open: () => void = () => undefined;
  gates.set(target, new Promise((resolve) => (open = resolve)));
  opens.push(open);
  return open;
};
const handler = (options: Partial<HandlerOptions<{ to: string }>> = {}) =>
  defineHandler<{ to: string }>({
    name: 'orders',
    target: ({ to }) => to,
    limits: { maxItems: 1 },
    linger: { lingerMs: 0 },
    leaders: 1,
    concurrency: { perTarget: 1, perHandler: 2 },
    submit: async ({ target, tasks }) => {
      calls.push(target);
      await gates.get(target);
      return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
    },
    ...options,
  });

let bench: Bench;
const claimed = async (orders: ReturnType<typeof handler>, ...targets: string[]) => {
  bench = await openBench([orders]);
  await submit(...targets);
  const answer = await bench.turn(run, 1);
  return { no: answer.dispatch!.no, deps: await bench.dispatch(answer, orders) };
};
const submit = async (...targets: string[]): Promise<void> => {
  await bench.client.submit(
    'orders',
    targets.map((to) => ({ id: to, payload: { to } })),
  );
  await bench.client['connection'].settled(); // rung, too
};
const begun: Promise<unknown>[] = [];
/** Carries a dispatch to its end; `gone`: its run is gone. */
const carry = (deps: Awaited<ReturnType<typeof claimed>>['deps'], gone: AbortSignal): Promise<DispatchAnswer> => {
  const work = (): Promise<DispatchAnswer> => new DispatchRun(deps, gone).run();
  const carrying = new MockActivityEnvironment({}, { logger: SILENT }).run<[], DispatchAnswer, typeof work>(work);
  begun.push(carrying);
  return carrying;
};
beforeEach(() => {
  calls.splice(0);
  gates.clear();
});
afterEach(async () => {
  for (const open of opens.splice(0)) open();
  await Promise.allSettled(begun.splice(0));
  await bench.stop();
});

test('a call that waits for its rate is given back unmarked when the run of its leader is gone', async () => {
  const paced = handler({ rate: { limit: 1, perMs: 600_000, unit: 'calls' } });
  const { no, deps } = await claimed(paced, 'a');
  // This process has made a call just now, later than it was planned.
  const [batch] = await readDispatch(deps.pool, 1, no);
  const pace = deps.paces.of({ name: paced.name, rates: [] });
  const clock = pace.clock(batch!.aheadMs);
  await pace.turn(batch!.targetId, { calls: 1, items: 1, weight: 1 }, clock, () => false, paced.rates);
  const gone = new AbortController();
  const carrying = carry(deps, gone.signal);
  const rows = async (): Promise<unknown[]> =>
    (await deps.pool.query('select dispatch, attempt_until is not null as marked from batch')).rows;
  await eventually(async () => JSON.stringify(await rows()) === JSON.stringify([{ dispatch: no, marked: true }]));
  gone.abort();
  expect(await carrying).toMatchObject({ batches: 0, handedBack: 1 });
  expect(await rows()).toEqual([{ dispatch: null, marked: false }]);
  expect(calls).toEqual([]);
});

test('the slot of a call that has ended is offered to its leader while the other call goes on', async () => {
  const [letGoA, letGoB] = [gated('a'), gated('b')];
  const { no, deps } = await claimed(handler(), 'a', 'b');
  const carrying = carry(deps, new AbortController().signal);
  await eventually(() => calls.length === 2);
  await submit('c');
  expect(await bench.turn(run, 2, { live: [no] })).toMatchObject({ dispatch: null, heldBy: 'calls in flight' });
  const before = bench.wakes.count;
  letGoB();
  await eventually(() => bench.wakes.count > before, { timeoutMs: 20_000, what: 'a wake of its leader' });
  expect((await bench.turn(run, 3, { live: [no] })).dispatch).toMatchObject({ slots: 1 });
  letGoA();
  expect(await carrying).toMatchObject({ batches: 2 });
});

test('a dispatch whose last sign of life is old gives one before its first call', async () => {
  const { deps } = await claimed(handler(), 'a');
  await deps.pool.query(`update dispatch set seen_at = clock() - interval '12 s'`);
  const allowance = new Allowance(deps, new Schedule(1));
  expect(await allowance.begin()).toBe(true);
  const now = performance.now();
  expect([allowance.mayCall(now), allowance.mayCall(now + 10_000)]).toEqual([true, false]);
  const { rows } = await deps.pool.query(`select seen_at > clock() - interval '5 s' as fresh from dispatch`);
  expect(rows).toEqual([{ fresh: true }]);
});

/** Says whether a statement that takes back marks waits for a lock. */
const unmarkWaits = async (): Promise<boolean> =>
  (
    await bench.database.pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
       and query like '%update batch b set attempt = m.attempt%' and pid <> pg_backend_pid()`,
    )
  ).rows.length > 0;

test('a dispatch that has failed gives no more signs of life while it takes its marks back', async () => {
  const letGo = gated('a');
  const { no, deps } = await claimed(handler({ concurrency: { perTarget: 1, perHandler: 1 } }), 'a', 'b');
  const { pool } = bench.database;
  // Calls may start for two more seconds, and each sign of life fails; a sequence counts them.
  await pool.query(`update dispatch set seen_at = clock() - interval '8 s'`);
  await pool.query(`
create sequence signs minvalue 0 start 0;
create function refuse() returns trigger language plpgsql as
  'begin perform nextval(''signs''); raise exception ''not today''; end';
create trigger refuse before update on dispatch for each row execute function refuse()`);
  const signs = async (): Promise<number> =>
    Number((await pool.query<{ n: string }>(`select last_value as n from signs`)).rows[0]!.n);
  const marked = async (): Promise<number> =>
    (await pool.query('select from batch where dispatch = $1 and attempt_until is not null', [no])).rows.length;
  const carrying = carry(deps, new AbortController().signal);
  const failed = expect(carrying).rejects.toThrow('not today');
  await eventually(async () => calls.length === 1 && (await marked()) === 2);
  const locker = await pool.connect();
  try {
    await locker.query('begin');
    await locker.query(
      `select from batch where state + 0 = 1 and target_id in (select id from target where key = 'b') for update`,
    );
    await sleep(2_500); // no call may start any more
    letGo();
    await eventually(unmarkWaits, { what: 'marks that are taken back' });
    const before = await signs();
    await sleep(2_500); // two signs of life and more
    expect([before > 0, (await signs()) - before]).toEqual([true, 0]);
  } finally {
    await locker.query('rollback');
    locker.release();
  }
  await failed;
  expect([calls, await marked()]).toEqual([['a'], 0]);
}, 30_000);

const leaderIs = async (id: number): Promise<{ state: number; blocked: boolean; kept: boolean }> => {
  const { rows } = await bench.database.pool.query<{ state: number; blocked: boolean; kept: boolean }>({
    text: `select state, blocked, expires_at > clock() + interval '8 s' as kept from leader where id = $1`,
    values: [id],
  });
  return rows[0]!;
};

test('a dispatch vouches for its leader: the lease is renewed while a long call holds its slot', async () => {
  const letGo = gated('a');
  const { deps } = await claimed(handler(), 'a');
  const carrying = carry(deps, new AbortController().signal);
  await eventually(() => calls.length === 1);
  await deps.pool.query(
    `update leader set state = 1, wake_at = null, woken_at = null, expires_at = clock() + interval '5 s'`,
  );
  await eventually(async () => (await leaderIs(1)).kept, { timeoutMs: 20_000, what: 'a lease that is renewed' });
  letGo();
  expect(await carrying).toMatchObject({ batches: 1 });
});

test('a dispatch that ends offers its slot to the leader that waits for one', async () => {
  const orders = handler({ leaders: 2, concurrency: { perTarget: 1, perHandler: 1 } });
  const { deps } = await claimed(orders, ...Array.from({ length: 8 }, (_, i) => `t${i}`));
  const other = { ...run, runId: 'other' };
  expect(await bench.turn(other, 1, { leaderId: 2 })).toMatchObject({ dispatch: null, next: 'waiting' });
  expect(await leaderIs(2)).toMatchObject({ state: 2, blocked: true });
  await carry(deps, new AbortController().signal);
  expect(await leaderIs(2)).toMatchObject({ state: 1, blocked: false });
});

test('weight that a call frees is offered to another leader that waits, while the other call goes on', async () => {
  const targets = Array.from({ length: 8 }, (_, i) => `t${i}`);
  const letGo = new Map(targets.map((target) => [target, gated(target)]));
  const limits = { maxItems: 1, maxWeightInFlight: { perHandler: 2 } };
  const { deps } = await claimed(
    handler({ leaders: 2, limits, concurrency: { perTarget: 1, perHandler: 8 } }),
    ...targets,
  );
  const carrying = carry(deps, new AbortController().signal);
  await eventually(() => calls.length === 2);
  const other = { ...run, runId: 'other' };
  expect(await bench.turn(other, 1, { leaderId: 2 })).toMatchObject({ dispatch: null, next: 'waiting' });
  expect(await leaderIs(2)).toMatchObject({ state: 2, blocked: true });
  const before = bench.wakes.ids.length;
  letGo.get(calls[1]!)!();
  const woken = (): string[] => bench.wakes.ids.slice(before);
  await eventually(() => woken().length > 0, { timeoutMs: 20_000, what: 'a wake of the other leader' });
  expect(woken()).toContain('bench/leader/orders/1');
  expect(await leaderIs(2)).toMatchObject({ state: 1, blocked: false });
  letGo.get(calls[0]!)!();
  expect(await carrying).toMatchObject({ batches: 2 });
});
