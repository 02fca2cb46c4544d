import { sweepDelayed, sweepDue } from '../../../postgres/sweeper/sweep';
import { UnusedRows } from '../../../postgres/sweeper/unusedRows';
import { DelayedTargets } from '../../../workers/sweeper/delayed/delayedTargets';
import type { Place } from '../rows/rows';
import { at, Rows } from '../rows/rows';

/** What the sweeper finds, and how often it looks. */

let rows: Rows;
beforeEach(async () => {
  rows = await Rows.open();
});
afterEach(() => rows.close());

const MINUTE = 60_000;

/** Targets with a task that is delayed for ten minutes. */
const delayedTargets = async (...columns: object[]): Promise<number[]> => {
  const place = await rows.place('jobs', { target: { due_at: at(10 * MINUTE) } });
  const targets: number[] = [];
  for (const [i, one] of columns.entries()) {
    const target = await rows.target(place, `t${i}`, { ...one });
    for (const inMs of [10 * MINUTE, 60 * MINUTE]) {
      const seq = await rows.task(target);
      await rows.insert('delayed', { target_id: target.targetId, seq, not_before: at(inMs), bytes: 1 });
    }
    targets.push(target.targetId);
  }
  return targets;
};

test('targets with delayed tasks that nothing will look at in time are forgotten', async () => {
  const forgotten = await delayedTargets(
    {},
    { due_at: at(11 * MINUTE) },
    { due_at: at(21 * MINUTE), hold_until: at(20 * MINUTE) },
    { due_at: at(20 * MINUTE), hold_until: at(-MINUTE) },
    { hold_until: at(20 * MINUTE) },
  );
  const { read, next, forgotten: found } = await sweepDelayed(rows.pool, 0, 100);
  expect({ read, next, found: found.toSorted((a, b) => a - b) }).toEqual({ read: 5, next: null, found: forgotten });
});

test('targets that will be looked at when their first delayed task is due are not', async () => {
  await delayedTargets(
    { due_at: at(10 * MINUTE) },
    { due_at: at(MINUTE) },
    // What is held is not looked at before the hold ends.
    { due_at: at(20 * MINUTE), hold_until: at(20 * MINUTE) },
    { due_at: at(10 * MINUTE), hold_until: at(MINUTE) },
    { busy: true },
    { paused: true, paused_at: at(0) },
  );
  expect(await sweepDelayed(rows.pool, 0, 100)).toEqual({ read: 6, next: null, forgotten: [], later: [] });
});

test('a look goes on after the target at which the last one ended', async () => {
  const targets = await delayedTargets({}, {}, {});
  const { read, next, forgotten } = await sweepDelayed(rows.pool, 0, 2);
  expect({ read, next, forgotten: forgotten.toSorted((a, b) => a - b) }).toEqual({
    read: 2,
    next: targets[1],
    forgotten: targets.slice(0, 2),
  });
  expect(await sweepDelayed(rows.pool, next!, 2)).toMatchObject({ read: 1, next: null, forgotten: [targets[2]] });
});

test('targets whose delayed tasks became due without a look are forgotten, however many wait for later', async () => {
  await delayedTargets({ due_at: at(10 * MINUTE) }); // for later
  const place = await rows.place('late', { target: { due_at: at(10 * MINUTE) } });
  /** A target with tasks that became due so long ago; by itself nothing looks at it. */
  const dueTarget = async (ms: readonly number[], columns: Record<string, unknown> = {}): Promise<number> => {
    const target = await rows.target(place, `due ${ms.join()} ${JSON.stringify(columns)}`, columns);
    for (const ago of ms) {
      const seq = await rows.task(target);
      await rows.insert('delayed', { target_id: target.targetId, seq, not_before: at(-ago), bytes: 1 });
    }
    return target.targetId;
  };
  const forgotten = [
    await dueTarget([12_000, 3_000]),
    await dueTarget([8_000], { due_at: at(MINUTE) }),
    await dueTarget([6_000, 6_000], { due_at: at(MINUTE), hold_until: at(-3_000) }),
  ];
  await dueTarget([8_000], { due_at: at(-8_000) });
  await dueTarget([8_000], { due_at: at(MINUTE), hold_until: at(MINUTE) });
  await dueTarget([8_000], { busy: true });
  await dueTarget([8_000], { paused: true, paused_at: at(0) });
  await dueTarget([30_000]); // the look at all delayed ones finds it
  const found = async (limit: number): Promise<number[]> => {
    const all = new Set<number>();
    let page = await sweepDue(rows.pool, null, 20_000, limit);
    for (; page.next !== null; page = await sweepDue(rows.pool, page.next, 20_000, limit))
      for (const id of page.forgotten) all.add(id);
    return [...all, ...page.forgotten].filter((id, i, ids) => ids.indexOf(id) === i).sort((a, b) => a - b);
  };
  expect(await found(100)).toEqual(forgotten);
  expect(await found(1)).toEqual(forgotten);
  expect(await found(2)).toEqual(forgotten);
});

test('rounds without time for more than a page go on where the one before ended, in both looks', async () => {
  const later = await delayedTargets({}, {});
  const place = await rows.place('due', { target: { due_at: at(10 * MINUTE) } });
  const due: number[] = [];
  for (const ago of [9_000, 6_000, 6_000, 3_000]) {
    const target = await rows.target(place, `due ${due.length}`, {});
    const seq = await rows.task(target);
    await rows.insert('delayed', { target_id: target.targetId, seq, not_before: at(-ago), bytes: 1 });
    due.push(target.targetId);
  }
  const rung = new Set<number>();
  const ring = (ids: readonly number[]): Promise<void> => Promise.resolve(ids.forEach((id) => void rung.add(id)));
  const delayed = new DelayedTargets({ pool: rows.pool, recentMs: 20_000, budgetMs: 0, page: 1, ring });
  for (let round = 0; round < 4; round++) await delayed.look();
  expect([...rung].sort((a, b) => a - b)).toEqual([...later, ...due].sort((a, b) => a - b));
});

test('unused rows are looked for at once, a minute later, and then every hour; not in between', async () => {
  let nowMs = 0;
  const unused = new UnusedRows(() => nowMs);
  const place: Place = await rows.place('jobs');
  /** Says whether a look at this time finds a target that was made just before. */
  const finds = async (ms: number): Promise<boolean> => {
    nowMs = ms;
    const { targetId } = await rows.target(place, `made before ${ms}`);
    await unused.look(rows.pool);
    const [target] = await rows.query<{ found: boolean }>(
      'select unused_at is not null as found from target where id = $1',
      [targetId],
    );
    return target!.found;
  };
  const HOUR = 60 * MINUTE;
  const times = [0, 1, MINUTE - 1, MINUTE, MINUTE + 1, MINUTE + HOUR - 1, MINUTE + HOUR, MINUTE + 2 * HOUR - 1];
  const found: boolean[] = [];
  for (const ms of times) found.push(await finds(ms));
  expect(found).toEqual([true, false, false, true, false, false, true, false]);
});
