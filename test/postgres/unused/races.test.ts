import pg from 'pg';
import { storeBatches } from '../../../client/lanes/submitBatch';
import type { TaskInserter } from '../../../client/tasks/taskInserter';
import { isTargetGone } from '../../../postgres/errors';
import { inTransaction } from '../../../postgres/pool';
import * as unused from '../../../postgres/sweeper/unused';
import { postgresUrl } from '../../helpers/database';
import { loose, ordered, submit, UnusedStore } from './store';

/**
 * A task is never stored for a target that is deleted: every door, and every order of the two.
 *
 * @slow
 */

let store: UnusedStore;
beforeEach(async () => {
  store = await UnusedStore.open();
});
afterEach(async () => {
  expect(await store.lost()).toEqual([]);
  await store.close();
});

const MANY = Array.from({ length: 60 }, (_, i) => `many-${i}`);
type Door = (process: TaskInserter, to: string) => Promise<unknown>;
const DOORS: Record<string, Door> = {
  one: (process, to) => submit(process, loose, to, ['one']),
  'COPY of many': (process, to) => submit(process, loose, to, MANY),
  'a dependent': async (process, to) => {
    await submit(process, loose, 'another', ['first']);
    return submit(process, loose, to, ['second'], { dependsOn: ['first'] });
  },
  "a caller's transaction": async (process, to) => {
    const tx = await store.session();
    await tx.query('begin');
    await submit(process, loose, to, ['theirs'], { tx });
    await tx.query('commit');
  },
  'a lane': (process, to) => submit(process, ordered, to, ['in order']),
  'a batch of a lane': (process, to) =>
    storeBatches(
      { inserter: process, schema: 'muster', hooks: undefined },
      ordered,
      [{ service: `lane of ${to}`, items: [{ id: 'item', payload: { to } }] }] as never,
      {},
    ),
};
const doors = Object.entries(DOORS);

test.each(doors)('%s: a process remembers a target that was deleted since', async (_, door) => {
  const process = store.process();
  await door(process, 'a');
  const before = (await store.targets())['a'];
  await store.forgetTasks();
  expect((await store.sweep()).targets).toBeGreaterThan(0);
  expect((await store.targets())['a']).toBeUndefined();
  await door(process, 'a');
  expect((await store.targets())['a']).toBeGreaterThan(before!);
});

test.each(doors)('%s: to a target that is being deleted', async (_, door) => {
  await door(store.process(), 'a');
  await store.forgetTasks();
  await store.pass();
  await store.hoursLater(25);
  const { a } = await store.targets();
  const begun = gate();
  const goOn = gate();
  const deleted = inTransaction(store.database.pool, async (client) => {
    expect(await unused.lockUnusedTargets(client, [a!], Number.MAX_SAFE_INTEGER)).toEqual([a]);
    begun.open();
    await goOn.opened;
    return unused.deleteLockedTargets(client, [a!]);
  });
  await begun.opened;
  const submitted = door(store.process(), 'a');
  await store.untilWaiting(1).finally(goOn.open);
  expect(await deleted).toBe(1);
  await submitted;
  expect((await store.targets())['a']).not.toBe(a);
});

const gate = (): { opened: Promise<void>; open: () => void } => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
};

const HOUR_MS = 3_600_000;

describe('a transaction that stored a task, and ends days later, stops the deletion', () => {
  test.each(['commit', `prepare transaction 'forgotten'`])('%s', async (last) => {
    const process = store.process();
    await submit(process, loose, 'a', ['first']);
    await submit(process, loose, 'b', ['other']);
    await store.forgetTasks();
    await store.pass();
    const tx = await store.session();
    await tx.query('begin');
    await submit(process, loose, 'a', ['theirs'], { tx }); // by an id from before the mark
    const isPrepared = last !== 'commit';
    if (isPrepared) await tx.query(last);
    const { targets, keptForMs } = await store.sweep();
    expect(targets).toBe(0);
    expect(keptForMs).toBeGreaterThanOrEqual(100 * HOUR_MS);
    await tx.query(isPrepared ? `commit prepared 'forgotten'` : last);
    expect(await store.sweep()).toMatchObject({ targets: 1, keptForMs: 0 });
    expect(Object.keys(await store.targets())).toEqual(['a']);
  });
});

test('a transaction of another database stops nothing', async () => {
  await submit(store.process(), loose, 'a', ['first']);
  await store.forgetTasks();
  const elsewhere = new pg.Client({ connectionString: postgresUrl() });
  await elsewhere.connect();
  try {
    await elsewhere.query('begin');
    await elsewhere.query('select pg_current_xact_id()');
    expect((await store.sweep()).targets).toBe(1);
  } finally {
    await elsewhere.end();
  }
});

test('a session that has only a snapshot from before the mark stops nothing', async () => {
  const process = store.process();
  await submit(process, loose, 'a', ['first']);
  await store.forgetTasks();
  const tx = await store.session();
  await tx.query('begin isolation level repeatable read');
  await tx.query('select from target');
  expect((await store.sweep()).targets).toBe(1);
  await tx.query('commit');
});

test('a look-up takes the mark away, and what was marked anew stays for a day more', async () => {
  await submit(store.process(), loose, 'a', ['first']);
  await store.forgetTasks();
  await store.pass();
  await store.hoursLater(25);
  await store.pass();
  const { a } = await store.targets();
  const beforeMs = Number.MAX_SAFE_INTEGER;
  const [row] = await store.query<{ ms: number }>(
    'select extract(epoch from unused_at)::float8 * 1000 as ms from target',
  );
  await submit(store.process(), loose, 'a', ['second']);
  await inTransaction(store.database.pool, async (client) => {
    expect(await unused.lockUnusedTargets(client, [a!], beforeMs)).toEqual([]);
  });
  await store.forgetTasks();
  await store.pass(); // another sweeper marks it, after this one has read that it may go
  await inTransaction(store.database.pool, async (client) => {
    expect(await unused.lockUnusedTargets(client, [a!], row!.ms + 1)).toEqual([]);
    expect(await unused.lockUnusedTargets(client, [a!], beforeMs)).toEqual([a]);
  });
});

describe('repeatable read', () => {
  const begin = async (): Promise<pg.Client> => {
    const tx = await store.session();
    await tx.query('begin isolation level repeatable read');
    await tx.query('select from target');
    return tx;
  };

  test('a target that was registered after the snapshot is there', async () => {
    const tx = await begin();
    await submit(store.process(), loose, 'new', ['theirs'], { tx });
    await tx.query('commit');
    expect(await store.query('select id from task')).toEqual([{ id: 'theirs' }]);
  });

  test('one that was deleted before the snapshot is not, and is registered anew', async () => {
    const process = store.process();
    await submit(process, loose, 'a', ['first']);
    await store.forgetTasks();
    await store.sweep();
    const tx = await begin();
    await submit(process, loose, 'a', ['theirs'], { tx });
    await tx.query('commit');
    expect(await store.query('select id from task')).toEqual([{ id: 'theirs' }]);
  });
});

describe('the submit of the database', () => {
  const SUBMIT = `select submit('loose', 'by SQL', '{"to":"a"}', 'a')`;

  test('keeps its target, whose mark the next pass takes away, and lets others submit meanwhile', async () => {
    await submit(store.process(), loose, 'a', ['first']);
    await store.forgetTasks();
    await store.pass();
    const tx = await store.session();
    await tx.query('begin');
    await tx.query(SUBMIT);
    await store.hoursLater(25);
    await inTransaction(store.database.pool, async (client) => {
      const { a } = await store.targets();
      expect(await unused.lockUnusedTargets(client, [a!], Number.MAX_SAFE_INTEGER)).toEqual([]);
    });
    const other = await store.session();
    await other.query(`select submit('loose', 'by another', '{"to":"a"}', 'a')`);
    await submit(store.process(), loose, 'a', ['by a client']);
    await tx.query('commit');
    await store.pass();
    expect(await store.query('select unused_at from target')).toEqual([{ unused_at: null }]);
    expect(await store.query('select count(*)::int as n from task')).toEqual([{ n: 3 }]);
  });

  test('waits for a deletion, and registers the target anew', async () => {
    await submit(store.process(), loose, 'a', ['first']);
    await store.forgetTasks();
    await store.pass();
    const { a } = await store.targets();
    const tx = await store.session();
    const submitted = await inTransaction(store.database.pool, async (client) => {
      await unused.lockUnusedTargets(client, [a!], Number.MAX_SAFE_INTEGER);
      const waiting = tx.query(SUBMIT);
      await store.untilWaiting(1);
      expect(await unused.deleteLockedTargets(client, [a!])).toBe(1);
      return { waiting };
    });
    await submitted.waiting;
    expect((await store.targets())['a']).not.toBe(a);
  });

  test.each([
    ['read committed', 'now'],
    ['repeatable read', 'before'],
    ['serializable', 'before'],
  ])('looks its target up as of its snapshot: %s', async (level, expected) => {
    await submit(store.process(), loose, 'a', ['first']);
    await store.query(`create or replace function check_targets(looked_up_at timestamptz) returns boolean
      language plpgsql as $$ begin
        raise 'looked: %', case when looked_up_at < statement_timestamp() then 'before' else 'now' end;
      end $$`);
    const tx = await store.session();
    await tx.query(`begin isolation level ${level}`);
    await tx.query('select from target');
    await expect(tx.query(SUBMIT)).rejects.toThrow(`looked: ${expected}`);
  });
});

test('all doors at once, while targets are deleted all the time', async () => {
  const process = store.process();
  const { pool } = store.database;
  const end = performance.now() + 4_000;
  let tried = 0;
  let stored = 0;
  let deleted = 0;
  const submitting = Array.from({ length: 6 }, async (_, n) => {
    for (let i = 0; performance.now() < end; i++) {
      const [to, id] = [`to-${(n + i) % 7}`, `${n}-${i}`];
      const ids = n % 3 === 0 ? Array.from({ length: 50 }, (__, k) => `${id}-${k}`) : [id];
      // Days pass between two statements: one whose ids are too old each time is refused.
      const done = await submit(process, n === 5 ? ordered : loose, n === 5 ? `in ${to}` : to, ids).then(
        ({ accepted }) => accepted,
        (error: unknown) => {
          if (!isTargetGone(error)) throw error;
          return 0;
        },
      );
      tried++;
      stored += done;
    }
  });
  const ending = (async () => {
    while (performance.now() < end) {
      await pool.query({
        text: `with gone as (delete from queue returning seq), more as (delete from lane_queue returning seq)
          delete from task where seq in (select seq from gone union all select seq from more)`,
      });
    }
  })();
  const sweeping = (async () => {
    while (performance.now() < end) {
      const from = tried;
      await store.hoursLater(25);
      do deleted += (await store.pass()).targets;
      while (tried < from + 6 && performance.now() < end);
    }
  })();
  await Promise.all([...submitting, ending, sweeping]);
  expect(stored).toBeGreaterThan(500);
  expect(deleted).toBeGreaterThan(5);
}, 60_000);
