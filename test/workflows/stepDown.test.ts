import { defineHandler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import { leaderStory } from '../helpers/leaderStory';
import { rounds } from '../helpers/long';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';

/** @slow */

/**
 * A leader closes while its target is rung, again and again, on the dev server and without a
 * sweeper: every target has a separate leader, waits for nothing, and gets its next task a moment
 * after the last one's call has ended, from before the leader's release to after its end. How long
 * release, close and acceptance take depends on the machine, so each target looks for the moment:
 * it waits longer after a task that met the run, and shorter after a task that a new run took.
 */
const TARGETS = rounds(8, 25);
const CLOSINGS = rounds(160, 1_000);
/** The first mean wait between a call's end and the next submit. */
const WAIT_MS = 300;
/** What a mean wait is multiplied or divided by, so that it follows the machine. */
const STEP = 1.25;
/** Far below what a lost wake would take: nobody else would wake the leader. */
const STUCK_MS = 150_000;

const ended = new Map<string, () => void>();
const called: string[] = [];
const echo = defineHandler<{ to: string }>({
  name: 'echo',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  leaders: 'target',
  concurrency: { perHandler: 64 },
  submit: (batch) => {
    for (const { id } of batch.tasks) called.push(id);
    setImmediate(() => {
      for (const { id } of batch.tasks) ended.get(id)?.();
    });
    return Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
  },
});

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([echo], { sweepEveryMs: 0 });
});
afterAll(() => muster.stop());

/** Rejects with what the leader and its run look like: lost, or only slow. */
const within = async (target: string, id: string, done: Promise<void>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(leaderStory(muster, 'echo', target)), STUCK_MS);
  });
  const story = await Promise.race([done, late]);
  clearTimeout(timer);
  if (story !== undefined) throw new Error(`${id}: stuck for ${STUCK_MS} ms\n${story}`);
};

test(`${CLOSINGS} closings raced with a ring: none stuck, none lost, none twice [A13 A19]`, async () => {
  const seed = Number(process.env['MUSTER_SEED'] ?? Date.now() % 1_000_000);
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const ids: string[] = [];
  const { pool } = muster.database;
  const runsOf = async (target: string): Promise<number> => {
    const { rows } = await pool.query<{ epoch: number }>(
      'select l.epoch::int as epoch from leader l join target t on t.leader_id = l.id where t.key = $1',
      [target],
    );
    return rows[0]!.epoch;
  };
  const runner = async (target: string): Promise<void> => {
    let wait = WAIT_MS;
    let before = 0;
    for (let round = 0; round < CLOSINGS / TARGETS; round++) {
      const id = `${target}-${round}`;
      ids.push(id);
      const done = new Promise<void>((resolve) => ended.set(id, resolve));
      await muster.client.submit('echo', { id, payload: { to: target } });
      await within(target, id, done);
      const runs = await runsOf(target);
      wait = runs > before ? wait / STEP : wait * STEP;
      before = runs;
      await new Promise((resolve) => setTimeout(resolve, 2 * random() * wait));
    }
  };
  await Promise.all(Array.from({ length: TARGETS }, (_, i) => runner(`t${i}`)));
  expect(ids).toHaveLength(CLOSINGS);
  expect([...called].sort()).toEqual([...ids].sort());
  // The last closings: all idle, by themselves.
  await eventually(async () => (await pool.query('select from leader where state <> 0')).rows.length === 0, {
    timeoutMs: STUCK_MS,
    what: 'all leaders to step down',
  });
  const { rows } = await pool.query<{ runs: number; tasks: number }>(
    'select (select sum(epoch) from leader)::int as runs, (select count(*) from task_state where state = 4)::int as tasks',
  );
  const { runs, tasks } = rows[0]!;
  process.stderr.write(
    `step-down: seed ${seed}, ${CLOSINGS} closings raced; ${runs} runs began, ${CLOSINGS - runs} rings met a run that was still there\n`,
  );
  expect(tasks).toBe(CLOSINGS);
  // The race straddles the close: some rings came before it and some after.
  expect(runs).toBeGreaterThan(CLOSINGS / 5);
  expect(CLOSINGS - runs).toBeGreaterThan(CLOSINGS / 5);
}, 300_000);
