import { claimBatches } from '../../../activities/grouping/claim';
import { DEFAULT_NODE_SETTINGS } from '../../../activities/nodes/settings';
import { TaskInserter } from '../../../client/tasks/taskInserter';
import { defineHandler } from '../../../handlers';
import { registerTargets } from '../../../postgres/grouping/target';
import { inTransaction } from '../../../postgres/pool';
import * as unused from '../../../postgres/sweeper/unused';
import { eventually } from '../../helpers/eventually';
import { startMuster } from '../../helpers/muster';
import { alone, loose, submit, UnusedStore } from './store';

/**
 * Leaders of one target each go when their target has gone, and no target is left without one.
 *
 * @slow
 */

let store: UnusedStore;
beforeEach(async () => {
  store = await UnusedStore.open();
});
afterEach(async () => {
  expect(
    await store.query('select key from target t where not exists (select from leader where id = t.leader_id)'),
  ).toEqual([]);
  expect(await store.lost()).toEqual([]);
  await store.close();
});

const leaders = async (): Promise<string[]> =>
  (await store.query<{ name: string }>('select name from leader order by name')).map(({ name }) => name);
const idOf = async (name: string): Promise<number> =>
  (await store.query<{ id: number }>('select id from leader where name = $1', [name]))[0]!.id;

/** Leaders without targets, as if the sweeper had deleted these a moment ago. */
const orphans = async (...names: string[]): Promise<void> => {
  for (const name of names) await submit(store.process(), alone, name, [name]);
  await store.forgetTasks();
  await store.query('delete from target');
};

test('leaders go in the pass that deletes their targets; those that a handler shares stay', async () => {
  const process = store.process();
  for (const key of ['a', 'b', '4711', 'customer 12345']) await submit(process, alone, key, [key]);
  for (const key of ['used', 'c']) await submit(process, loose, key, [key]);
  await submit(process, alone, 'kept', ['waits']);
  await store.forgetTasks();
  await store.query(`update target set paused = true, paused_at = clock() where key = 'kept'`);
  expect(await leaders()).toHaveLength(6);
  // A number of up to four digits might be one of those that a handler shares: 10,000 at most stay.
  expect(await store.sweep()).toMatchObject({ targets: 6, leaders: 3 });
  expect(await leaders()).toEqual(['0', '4711', 'kept']);
});

test.each([
  ['is at work', `update leader set state = 1, expires_at = clock() where id = $1`],
  [
    'has a dispatch',
    `insert into dispatch (leader_id, no, handler_id, slots, started_at, seen_at)
    select id, 1, handler_id, 1, clock(), clock() from leader where id = $1`,
  ],
])('one that %s stays', async (_, text) => {
  await orphans('busy', 'idle');
  await store.query(text, [await idOf('busy')]);
  expect(await store.pass()).toMatchObject({ leaders: 1 });
  expect(await leaders()).toEqual(['busy']);
});

test('one that takes its turn stays, and the sweeper does not wait for it', async () => {
  await orphans('a');
  await inTransaction(store.database.pool, async (client) => {
    await client.query('select from leader for no key update');
    expect(await store.pass()).toMatchObject({ leaders: 0 });
  });
  expect(await store.pass()).toMatchObject({ leaders: 1 });
});

test('the run of a deleted leader finds that there is nothing of its own', async () => {
  await orphans('a');
  const leaderId = await idOf('a');
  await store.pass();
  const none = (): Promise<void> => Promise.resolve();
  const deps = {
    pool: store.database.pool,
    leaseMs: 1_000,
    nodes: DEFAULT_NODE_SETTINGS,
    wake: none,
    tellUnsent: none,
  };
  const run = { runId: 'run', runStartedAtMs: 1, turn: 1, live: [], mayClaim: true };
  const turn = await claimBatches(deps, { ...run, leaderId });
  expect(turn).toMatchObject({ foreign: true, dispatch: null });
});

/** Deletes a leader while another session registers its target, which has seen that leader. */
const whileDeleted = async (register: () => Promise<unknown>): Promise<void> => {
  await orphans('a');
  const before = await idOf('a');
  const registered = await inTransaction(store.database.pool, async (client) => {
    const locked = await unused.lockIdleLeaders(client, [before]);
    const waiting = register();
    await store.untilWaiting(1);
    expect(await unused.deleteLockedLeaders(client, locked)).toBe(1);
    return { waiting };
  });
  await registered.waiting;
  expect(await idOf('a')).not.toBe(before);
  expect(await store.query('select key from target')).toEqual([{ key: 'a' }]);
};

test('a target whose leader goes while it is registered gets a new one: by the client', () =>
  whileDeleted(() => submit(store.process(), alone, 'a', ['again'])));

test('by SQL', async () => {
  const session = await store.session();
  await whileDeleted(() => session.query(`select submit('alone', 'again', '{"to":"a"}', 'a')`));
});

test('a target that was registered meanwhile keeps its leader', async () => {
  await orphans('a', 'b');
  const ids = [await idOf('a'), await idOf('b')];
  const [{ id: handler } = { id: 0 }] = await store.query<{ id: number }>(
    `select id from handler where name = 'alone'`,
  );
  await registerTargets(store.database.pool, handler, ['a'], ['a']);
  await inTransaction(store.database.pool, async (client) => {
    expect(await unused.deleteLockedLeaders(client, await unused.lockIdleLeaders(client, ids))).toBe(1);
  });
  expect(await leaders()).toEqual(['a']);
});

test('its workflow may still be closing: the next task goes to a leader of its own, and is sent', async () => {
  const sent: string[] = [];
  const handler = defineHandler<{ to: string }>({
    name: 'alone',
    target: ({ to }) => to,
    leaders: 'target',
    limits: { maxItems: 10 },
    linger: { lingerMs: 0 },
    submit: async ({ tasks }) => {
      sent.push(...tasks.map(({ id }) => id));
      return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
    },
  });
  const muster = await startMuster([handler]);
  const { pool } = muster.database;
  const read = async (text: string): Promise<number[]> =>
    (await pool.query<{ id: number }>({ text })).rows.map(({ id }) => id);
  try {
    const used = new Set<number>();
    for (let round = 0; round < 3; round++) {
      const process = new TaskInserter(pool); // what it knows of a target that is gone is from before
      await submit(process, handler, 'a', [`round ${round}`]);
      const [leader] = await read('select id from leader');
      expect(used.has(leader!)).toBe(false);
      used.add(leader!);
      await muster.client.waitFor([`round ${round}`], { timeoutMs: 60_000 });
      // The run publishes that it is idle, and closes afterwards.
      await eventually(async () => (await read('select id from leader where state = 0')).length === 1);
      await pool.query(
        'truncate task, queue, delayed, held, outcome, batch, member, lane_queue, lane_batch, dependency',
      );
      await pool.query('delete from dispatch');
      await pool.query('delete from target');
      await inTransaction(pool, async (client) => {
        expect(await unused.deleteLockedLeaders(client, await unused.lockIdleLeaders(client, [leader!]))).toBe(1);
      });
    }
    expect(sent).toEqual(['round 0', 'round 1', 'round 2']);
  } finally {
    await muster.stop();
  }
}, 120_000);
