import pg from 'pg';
import pino from 'pino';
import { defineHandler } from '../../handlers';
import { releaseLease } from '../../postgres/lease';
import { leaderWorkflowId } from '../../workflows/naming';
import { SilentRuns } from '../../workers/sweeper/silentRuns';
import { Sweeper } from '../../workers/sweeper/sweeper';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { acceptNewer } from './newerTasks';

interface Work {
  to: string;
}
let hang: Promise<void> | null = null;
const jobs = defineHandler<Work>({
  name: 'jobs',
  target: (work) => work.to,
  limits: { maxItems: 100 },
  linger: { lingerMs: 50 },
  leaders: 'target',
  submit: async (batch) => {
    await hang;
    return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
  },
});

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([jobs], { leaseMs: 2_000, sweepEveryMs: 500 });
});
afterAll(() => muster.stop());

const query = async <R extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> =>
  (await muster.database.pool.query<R>({ text, values })).rows;
const succeeded = async (id: string): Promise<boolean> =>
  (await query<{ state: number }>('select state from task_state where id = $1', [id]))[0]?.state === 4;
const submit = (id: string, to: string, notBefore?: number): Promise<unknown> =>
  muster.client.submit('jobs', { id, payload: { to }, ...(notBefore === undefined ? {} : { notBefore }) });
/** Accepts in a transaction of the caller's own, for which nobody rings. */
const submitUnrung = async (
  id: string,
  to: string,
  { dueTarget, before }: { dueTarget?: number; before?: (client: pg.Client) => Promise<unknown> } = {},
): Promise<void> => {
  const client = new pg.Client({ connectionString: muster.database.url });
  await client.connect();
  try {
    await client.query('begin');
    await muster.client.submit('jobs', { id, payload: { to } }, { tx: client });
    if (dueTarget !== undefined)
      await client.query('update muster.target set due_at = now() where id = $1', [dueTarget]);
    await before?.(client);
    await client.query('commit');
  } finally {
    await client.end();
  }
};
/**
 * Accepts a task that only the sweeper would ever find. Counts its cycles, as the machine may be
 * slow: what is under way may have passed the task, the next finds it, and one may end until we
 * see it. At 2 s each, a task is found within 4 s and the time that one cycle reads.
 */
const expectFound = async (id: string, accept: () => Promise<unknown>): Promise<void> => {
  const { sweepCounts: counts } = muster.node;
  const { forgottenTargets: before } = counts;
  await accept();
  const { cycles } = counts;
  await eventually(() => counts.forgottenTargets > before, { timeoutMs: 60_000, what: `task ${id} to be found` });
  expect(counts.cycles - cycles).toBeLessThanOrEqual(3);
  await eventually(() => succeeded(id), { timeoutMs: 60_000, what: `task ${id} to succeed` });
};
/** The machine may be slow. */
const within = async (ms: number, id: string): Promise<void> => {
  await eventually(() => succeeded(id), { timeoutMs: 4 * ms, what: `task ${id} to succeed` });
};

test('a task accepted in the caller’s own transaction, for which nobody rang, is found within 5 s [G14]', async () => {
  await expectFound('tx', () => submitUnrung('tx', 'tx'));
  expect(muster.node.sweepCounts.forgottenTargets).toBeGreaterThan(0);
});

test('also where so many were accepted after it that it is not among the newest', async () => {
  let deleteNewer = (): Promise<void> => Promise.resolve();
  await expectFound('behind', () =>
    submitUnrung('behind', 'behind', {
      before: async (client) => {
        const end = await acceptNewer(client, 'tx');
        deleteNewer = () => end(muster.database.pool);
      },
    }),
  );
  await deleteNewer();
});

test('also where the target waits for something that is due much later [G14]', async () => {
  await submit('tomorrow', 'busy-calendar', Date.now() + 86_400_000);
  await expectFound('today', () => submitUnrung('today', 'busy-calendar'));
});

test('a delayed task whose ring never came is due at its time', async () => {
  await submit('delayed', 'delayed', Date.now() + 86_400_000);
  const [target] = await query<{ id: number; leader_id: number }>(
    `select id, leader_id from target where key = 'delayed'`,
  );
  await query(`update target set due_at = null where id = $1`, [target!.id]);
  await query(`update delayed set not_before = clock() + interval '500 ms' where target_id = $1`, [target!.id]);
  await within(8_000, 'delayed');
});

test('a leader that is idle although its target is due (the client died between the two statements of its ring) is woken', async () => {
  await submit('first', 'half-rung');
  await within(10_000, 'first');
  const [target] = await query<{ id: number; leader_id: number }>(
    `select id, leader_id from target where key = 'half-rung'`,
  );
  await eventually(
    async () =>
      (await query<{ state: number }>('select state from leader where id = $1', [target!.leader_id]))[0]!.state === 0,
  );
  const before = muster.node.sweepCounts.idleLeaders;
  // In one commit: between two the sweeper could find the target as a forgotten one.
  await submitUnrung('second', 'half-rung', { dueTarget: target!.id });
  await within(8_000, 'second');
  expect(muster.node.sweepCounts.idleLeaders).toBeGreaterThan(before);
});

test('a leader whose workflow an operator terminated is started again when its lease has passed', async () => {
  await submit('long', 'terminated', Date.now() + 3_000);
  const [leader] = await query<{ id: number; name: string }>(
    `select l.id, l.name from leader l join target t on t.leader_id = l.id where t.key = 'terminated'`,
  );
  const handle = (await muster.client.temporal()).workflow.getHandle(
    leaderWorkflowId(muster.prefix, 'jobs', leader!.name, leader!.id),
  );
  await eventually(() =>
    handle.describe().then(
      ({ status }) => status.name === 'RUNNING',
      () => false,
    ),
  );
  await handle.terminate('operator');
  await within(15_000, 'long');
  expect(muster.node.sweepCounts.expiredLeaders).toBeGreaterThan(0);
});

test('an open batch that waits in the store under a target without a due time is found', async () => {
  let go = (): void => undefined;
  hang = new Promise((resolve) => (go = resolve));
  await submit('handed', 'handed-back');
  const [target] = await eventually(async () => {
    const rows = await query<{ id: number; leader: number }>(
      `select t.id, t.leader_id as leader from target t join batch b on b.target_id = t.id and b.state = 1 and b.attempt = 1 where t.key = 'handed-back'`,
    );
    return rows.length > 0 && rows;
  });
  // As if its dispatch had died and its leader's turn had taken the batch back, without a ring;
  // the call's mark has passed.
  await query(
    `update batch set dispatch = null, attempt_until = null, attempt = 0 where target_id = $1 and state = 1`,
    [target!.id],
  );
  await query(`update target set due_at = null, busy = false where id = $1`, [target!.id]);
  await query(`delete from dispatch where leader_id = $1`, [target!.leader]);
  hang = null;
  go();
  await within(10_000, 'handed');
});

test('a target that counts as busy under an idle leader, with nothing in flight, takes part again', async () => {
  await submit('before', 'stuck');
  await within(10_000, 'before');
  const [target] = await query<{ id: number; leader_id: number }>(
    `select id, leader_id from target where key = 'stuck'`,
  );
  await eventually(
    async () =>
      (await query<{ state: number }>('select state from leader where id = $1', [target!.leader_id]))[0]!.state === 0,
  );
  await query('update target set busy = true where id = $1', [target!.id]);
  await submitUnrung('after', 'stuck');
  await within(8_000, 'after');
  expect(muster.node.sweepCounts.stuckTargets).toBeGreaterThan(0);
});

test('nodes silent for an hour, words about those long gone, and slots of leaders long gone are removed', async () => {
  await query(
    `insert into node (id, task_queue, started_at, seen_at) values ('dead', 'q', clock(), clock() - interval '2 hours')`,
  );
  await query(`insert into drain values ('dead', false, clock() - interval '8 days')`);
  const [leader] = await query<{ id: number; handler_id: number }>(
    `select id, handler_id from leader where state = 0 limit 1`,
  );
  await query(
    `insert into dispatch (leader_id, no, handler_id, slots, started_at, seen_at) values ($1, 77, $2, 3, clock() - interval '1 hour', clock() - interval '1 hour')`,
    [leader!.id, leader!.handler_id],
  );
  await eventually(
    async () =>
      (
        await query(
          `select from node where id = 'dead' union all select from drain where node = 'dead' union all select from dispatch where no = 77`,
        )
      ).length === 0,
    { timeoutMs: 8_000 },
  );
  expect(muster.node.sweepCounts).toMatchObject({ deletedNodes: 1, deletedDispatches: 1 });
});

test('a half of a first split that waits for a half that is over is counted: it should not happen, so it is seen', async () => {
  const [target] = await query<{ id: number; leader_id: number }>(`select id, leader_id from target where key = 'tx'`);
  const insert = async (columns: string, values: string): Promise<number> =>
    (
      await query<{ id: number }>(
        `insert into batch (target_id, leader_id, epoch, turn, reason, n, members, bytes, weight, created_at, ${columns}) values ($1, $2, 1, 1, 7, 1, '{1}', 1, 1, clock(), ${values}) returning id`,
        [target!.id, target!.leader_id],
      )
    )[0]!.id;
  const parent = await insert('state, finished_at, n_left', '7, clock(), 1');
  const half = await insert('parent_id, depth, refused', `${parent}, 1, true`);
  await insert('parent_id, depth, state, finished_at', `${parent}, 1, 4, clock()`);
  await eventually(() => muster.node.sweepCounts.strandedHalves === 1, { timeoutMs: 8_000 });
  await query('delete from batch where id = $1 or parent_id = $2', [half, parent]);
  await eventually(() => muster.node.sweepCounts.strandedHalves === 0, { timeoutMs: 8_000 });
});

describe('the lease', () => {
  const other = (log = pino({ level: 'silent' })): Sweeper =>
    new Sweeper({ ...muster.node.deps, log, node: 'other', everyMs: 200 });
  const holder = async (): Promise<{ holder: string; epoch: number; live: boolean }> =>
    (
      await query<{ holder: string; epoch: number; live: boolean }>(
        `select holder, epoch, expires_at > clock() as live from lease where resource = 'sweeper'`,
      )
    )[0]!;

  test('one sweeps at a time; when it stops the other begins at once', async () => {
    await eventually(async () => (await holder()).live);
    expect((await holder()).holder).toBe(muster.node.id);
    const second = other();
    const forgets = jest.spyOn(SilentRuns.prototype, 'forget');
    second.start();
    const rounds = muster.node.sweepCounts.rounds;
    await eventually(() => muster.node.sweepCounts.rounds > rounds + 2);
    expect(second.counts.rounds).toBe(0);
    expect(forgets).toHaveBeenCalled(); // since when work is overdue: the other sees to it
    forgets.mockRestore();
    const { epoch } = await holder();
    await releaseLease(muster.database.pool, 'sweeper', muster.node.id, epoch);
    await eventually(async () => (await holder()).holder === 'other' || (await holder()).epoch > epoch);
    await second.stop();
    await eventually(async () => (await holder()).holder === muster.node.id && (await holder()).live, {
      timeoutMs: 5_000,
    });
  });

  test('a step that fails is counted and logged once, the others go on, and the net holds after every connection was cut', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const broken = new Sweeper({
      ...muster.node.deps,
      log,
      node: muster.node.id,
      everyMs: 50,
      deleteExpired: () => Promise.reject(new Error('disk full')),
    });
    broken.start(); // the same holder: it shares the lease of the process's own
    await eventually(() => broken.counts.failures >= 3);
    for (let i = 0; i < 3; i++) {
      await query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()`,
        [muster.database.name],
      ).catch(() => undefined);
      const { rounds } = broken.counts;
      await eventually(() => broken.counts.rounds > rounds + 1);
    }
    await broken.stop();
    expect(lines.filter((line) => line.includes('disk full'))).toHaveLength(1);
    await submitUnrung('cut', 'cut');
    await within(8_000, 'cut');
  });
});
