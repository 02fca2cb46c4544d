import { claimBatches } from '../../../activities/grouping/claim';
import { DEFAULT_NODE_SETTINGS } from '../../../activities/nodes/settings';
import { defineHandler } from '../../../handlers';
import { createPool } from '../../../postgres/pool';
import type { TurnAnswer } from '../../../workflows/messages';
import { tapPool } from '../../chaos/judge/tap';
import type { Bench, Run } from '../bench';
import { openBench } from '../bench';

/** @slow */

/** Two runs of one leader that claim at once, and one that stops in the middle of its claim. */
const orders = defineHandler<{ to: string }>({
  name: 'orders',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  leaders: 1,
  submit: () => Promise.resolve({ results: [] }),
});

let bench: Bench;
beforeEach(async () => {
  bench = await openBench([orders]);
});
afterEach(() => bench.stop());

const older: Run = { runId: 'older', runStartedAtMs: 1_000 };
const newer: Run = { runId: 'newer', runStartedAtMs: 2_000 };
const submit = (...ids: string[]): Promise<unknown> =>
  bench.client.submit(
    'orders',
    ids.map((id) => ({ id, payload: { to: id.split('-')[0]! } })),
  );
const rows = async <R extends object>(text: string): Promise<R[]> => (await bench.database.pool.query<R>(text)).rows;

/** The older run's next turn, held before the statement of this name. */
const holdTurn = async (statement: string, turn: number): Promise<{ goOn: () => Promise<TurnAnswer> }> => {
  let stopped = (): void => undefined;
  let goOn = (): void => undefined;
  const inside = new Promise<void>((resolve) => (stopped = resolve));
  const continued = new Promise<void>((resolve) => (goOn = resolve));
  const pool = tapPool(createPool({ databaseUrl: bench.database.url, max: 1 }), {
    before: ({ name }) => {
      if (name !== statement) return Promise.resolve();
      stopped();
      return continued;
    },
  });
  const none = (): Promise<void> => Promise.resolve();
  const deps = { pool, leaseMs: 15_000, nodes: DEFAULT_NODE_SETTINGS, wake: none, tellUnsent: none };
  const answer = claimBatches(deps, { ...older, leaderId: 1, turn, live: [], mayClaim: true });
  await inside;
  return {
    goOn: () => {
      goOn();
      return answer.finally(() => pool.end());
    },
  };
};

/** A run that finds every slot reserved by a run before it looks again by itself, this soon. */
const BLOCKED = { dispatch: null, deposed: false, next: 'waiting', heldBy: 'calls in flight of other leaders' };
const LOOKS_WITHIN_MS = 10_000;
/** Dispatches that never begin: their slots are free after a while. */
const freeSlots = (): Promise<unknown> =>
  bench.database.pool.query(`update dispatch set seen_at = clock() - interval '16 s'`);

test('both claim in the same moment, many times: one wins each time, no task is in two batches [A19]', async () => {
  for (let round = 1; round <= 30; round++) {
    await submit(`r${round}-1`, `r${round}-2`);
    // The older run's turn and the first turn of a later one: any order is right, both taking the
    // tasks is not.
    const [first, second] = await Promise.all([
      bench.turn({ runId: `run-${round}`, runStartedAtMs: round }, 2),
      bench.turn({ runId: `run-${round + 1}`, runStartedAtMs: round + 1 }, 1),
    ]);
    expect(second.deposed).toBe(false);
    if (first.deposed) expect(first.dispatch).toBeNull();
    // Neither took them: the older run held the slots, and was deposed before it could use them.
    if (first.dispatch === null && second.dispatch === null) expect(second).toMatchObject(BLOCKED);
    await freeSlots();
  }
  await bench.turn({ runId: 'run-31', runStartedAtMs: 31 }, 2);
  const [{ tasks, members, batches }] = (await rows<{ tasks: number; members: number; batches: number }>(
    `select (select count(*) from task)::int as tasks, (select count(*) from member)::int as members,
            (select count(distinct u) from batch b, unnest(b.members) u)::int as batches`,
  )) as [{ tasks: number; members: number; batches: number }];
  expect({ tasks, members, batches }).toEqual({ tasks: 60, members: 60, batches: 60 });
  expect(await rows('select u from batch b, unnest(b.members) u group by u having count(*) > 1')).toEqual([]);
});

test('an older run reserves every slot and is deposed before it claims: the later run waits for seconds, then claims [A19]', async () => {
  await submit('no-1');
  await bench.turn(older, 1);
  await freeSlots();
  await submit('se-1');
  const zombie = await holdTurn('lock-leader', 2); // the claim's first statement
  const blocked = await bench.turn(newer, 1);
  expect(blocked).toMatchObject(BLOCKED);
  expect(blocked.dueInMs).toBeLessThanOrEqual(LOOKS_WITHIN_MS);
  expect(await zombie.goOn()).toMatchObject({ deposed: true, dispatch: null });
  await freeSlots();
  expect(await bench.turn(newer, 2)).toMatchObject({ deposed: false, dispatch: { tasks: 2 } });
});

test('a process that is stopped inside a claim holds the others up for seconds; its session is ended, and nothing of it was written [A18]', async () => {
  await submit('se-1');
  const zombie = await holdTurn('publish-turn', 1);
  const turn = await bench.turn(newer, 1); // waits for the row, less than its own lock timeout of 10 s
  expect(turn).toMatchObject({ deposed: false, dispatch: { tasks: 1 } });
  expect(await zombie.goOn()).toMatchObject({ deposed: true, dispatch: null }); // it begins its turn again, on a new session
});
