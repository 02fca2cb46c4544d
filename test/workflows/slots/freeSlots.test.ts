import { defineHandler } from '../../../handlers';
import type { Bench, Run } from '../bench';
import { openBench } from '../bench';

/** One slot, two leaders: whoever leaves it free tells the one that waits for it (A18). */
const orders = defineHandler<{ to: string }>({
  name: 'orders',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  leaders: 2,
  concurrency: { perTarget: 1, perHandler: 1 },
  submit: () => Promise.resolve({ results: [] }),
});

let bench: Bench;
beforeEach(async () => {
  bench = await openBench([orders]);
});
afterEach(() => bench.stop());

const first: Run = { runId: 'first', runStartedAtMs: 1_000 };
const second: Run = { runId: 'second', runStartedAtMs: 1_000 };
interface Led {
  leaderId: number;
  key: string;
}
/** A target of each leader, both with a task. */
const submitToBoth = async (): Promise<[Led, Led]> => {
  await bench.client.submit(
    'orders',
    Array.from({ length: 8 }, (_, i) => ({ id: `o-${i}`, payload: { to: `t${i}` } })),
  );
  const { rows } = await bench.database.pool.query<Led>(
    'select distinct on (leader_id) leader_id as "leaderId", key from target order by leader_id, id',
  );
  expect(rows).toHaveLength(2);
  return [rows[0]!, rows[1]!];
};
const targetsOf = async ({ leaderId }: Led): Promise<string[]> =>
  (
    await bench.database.pool.query<{ key: string }>('select key from target where leader_id = $1', [leaderId])
  ).rows.map(({ key }) => key);
const stateOf = async ({ leaderId }: Led): Promise<{ state: number; blocked: boolean }> =>
  (
    await bench.database.pool.query<{ state: number; blocked: boolean }>(
      'select state, blocked from leader where id = $1',
      [leaderId],
    )
  ).rows[0]!;

/** Lets another transaction commit just before the next statement of this name runs. */
const before = (name: string, text: string): void => {
  const { pool } = bench.database;
  const query = pool.query.bind(pool) as (statement: { name?: string }) => Promise<unknown>;
  pool.query = (async (statement: { name?: string }) => {
    if (statement.name !== name) return query(statement);
    pool.query = query as never;
    await pool.query(text);
    return query(statement);
  }) as never;
};

test('a turn that forgets the slots of a dead dispatch, and has no use for them, offers them to the leader that waits [A18]', async () => {
  const [one, other] = await submitToBoth();
  expect((await bench.turn(first, 1, one)).dispatch).toMatchObject({ slots: 1 });
  expect(await bench.turn(second, 1, other)).toMatchObject({ dispatch: null, next: 'waiting' });
  expect(await stateOf(other)).toEqual({ state: 2, blocked: true });
  // Its dispatch died, and nothing of it may go now.
  for (const target of await targetsOf(one)) await bench.client.pause('orders', { target });
  await bench.turn(first, 2, { ...one, live: [] });
  expect(await stateOf(other)).toEqual({ state: 1, blocked: false });
  expect((await bench.turn(second, 2, other)).dispatch).toMatchObject({ slots: 1 });
});

test('a repeated turn offers free slots again: its first execution may have died before it did [A18]', async () => {
  const [one, other] = await submitToBoth();
  await bench.turn(first, 1, one);
  await bench.turn(second, 1, other);
  await bench.database.pool.query('delete from dispatch');
  await bench.turn(first, 1, one);
  expect(await stateOf(other)).toEqual({ state: 1, blocked: false });
});

test('a leader that waits for a slot is left alone while there is none [A18]', async () => {
  const [one, other] = await submitToBoth();
  const { dispatch } = await bench.turn(first, 1, one);
  await bench.turn(second, 1, other);
  await bench.turn(first, 2, { ...one, live: [dispatch!.no] });
  expect(await stateOf(other)).toEqual({ state: 2, blocked: true });
});

test('a slot that comes free while a turn publishes its wait is seen by its second look [A18]', async () => {
  const [one, other] = await submitToBoth();
  await bench.turn(first, 1, one);
  before('has-free-slot', 'delete from dispatch');
  expect(await bench.turn(second, 1, other)).toMatchObject({ dispatch: null, next: 'waiting', again: true });
});

test('work that comes due while a turn publishes when it looks again is seen by its second look', async () => {
  const [one] = await submitToBoth();
  const { pool } = bench.database;
  await pool.query({
    text: `update target set due_at = clock() + interval '1 hour' where leader_id = $1`,
    values: [one.leaderId],
  });
  expect(await bench.turn(first, 1, one)).toMatchObject({ dispatch: null, next: 'waiting', again: false });
  before('is-due-earlier', 'update target set due_at = clock()');
  expect(await bench.turn(first, 2, one)).toMatchObject({ dispatch: null, next: 'waiting', again: true });
});
