import { Turns, turnsOf } from '../../../workers/api/callers/turns';
import { eventually } from '../../helpers/eventually';
import type { ApiWorld } from '../world';
import { items, openWorld } from '../world';

/** Requests that hold a connection for long take turns, so that one caller does not take all. */

/** Asks for turns, and notes in which order they began. */
const asking = (turns: Turns) => {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const ask = (caller: number, times: number): void => {
    for (let n = 0; n < times; n++)
      void turns.enter(caller).then((leave) => {
        begun.push(`${caller}-${n}`);
        ends.push(leave);
      });
  };
  /** Ends the oldest turn that has not ended. */
  const end = async (): Promise<void> => {
    ends.shift()!();
    await settled();
  };
  return { begun, ask, end };
};
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('one caller has at most half of the turns; another gets one at once', async () => {
  const { begun, ask } = asking(new Turns(4));
  ask(1, 10);
  await settled();
  expect(begun).toEqual(['1-0', '1-1']);
  ask(2, 1);
  await settled();
  expect(begun).toEqual(['1-0', '1-1', '2-0']);
});

test('turns go from caller to caller, however many wait of one, and in order for each', async () => {
  const { begun, ask, end } = asking(new Turns(1));
  ask(1, 50);
  ask(2, 2);
  ask(3, 2);
  await settled();
  for (let n = 0; n < 6; n++) await end();
  expect(begun).toEqual(['1-0', '2-0', '3-0', '1-1', '2-1', '3-1', '1-2']);
});

test('all turns are taken again after their end, and callers without one are forgotten', async () => {
  const turns = new Turns(3);
  const { begun, ask, end } = asking(turns);
  for (let round = 0; round < 3; round++) {
    ask(1, 5);
    await settled();
    for (let n = 0; n < 5; n++) await end();
  }
  expect(begun).toHaveLength(15);
  expect((turns as unknown as { callers: Map<number, unknown> }).callers.size).toBe(0);
});

test('a pool keeps a fifth of its connections, at least one, for what takes a moment', () => {
  expect([1, 2, 4, 10, 50].map(turnsOf)).toEqual([1, 1, 3, 8, 40]);
});

describe('over HTTP', () => {
  let world: ApiWorld;
  beforeAll(async () => {
    world = await openWorld({ open: false });
  });
  afterAll(() => world.stop());

  test('large submits of one caller that wait for a lock hold up no submit of another', async () => {
    const greedy = await world.token('submit');
    const modest = await world.token('submit');
    const submit = (token: string, ids: string[]) =>
      world.call('POST /v1/handlers/items/tasks', { token, body: { tasks: items('se', ...ids) } });
    await submit(modest, ['known']);
    const holder = await world.database.pool.connect();
    await holder.query('begin');
    // An id that another session is about to commit: whoever submits it waits for that session.
    await holder.query(
      `insert into task (seq, created_at, target_id, bytes, id, payload)
       select -1, clock(), t.id, 1, 'taken', '1' from target t limit 1`,
    );
    const large = (n: number): string[] => ['taken', ...Array.from({ length: 99 }, (_, i) => `large-${n}-${i}`)];
    const open = Array.from({ length: 20 }, (_, n) => submit(greedy, large(n)));
    try {
      await eventually(async () => (await waitingSessions(world)) >= 4);
      const first = await Promise.race([submit(modest, ['small']), Promise.any(open)]);
      const task = await world.client.getTask('small');
      expect({ status: first.status, isStored: task !== null }).toEqual({ status: 200, isStored: true });
    } finally {
      await holder.query('rollback');
      holder.release();
    }
    const answers = await Promise.all(open);
    // The first one is the task's; the others are refused, or come too late.
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
  });
});

const waitingSessions = async (world: ApiWorld): Promise<number> => {
  const { rows } = await world.database.pool.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows[0]!.n;
};
