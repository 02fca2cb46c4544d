import pino from 'pino';
import { Heartbeat } from '../../../activities/nodes/heartbeat';
import { Keeper } from '../../../activities/nodes/heartbeat/keeper';
import type { FromThread } from '../../../activities/nodes/heartbeat/messages';
import { touchNode } from '../../../postgres/nodes/node';
import { answerRollCall, HANGS_AFTER_MS } from '../../../postgres/nodes/rollCall';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

/** How a node's row comes to say that its main thread hangs, from the silence to the roll call. */

const row = {
  ...{ id: 'a', taskQueue: 'q', handlers: [], version: '1', draining: false },
  ...{ batch: true, functions: ['f'] },
};
const HOUR_MS = 3_600_000;

let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database.drop());

const answering = async (): Promise<string[]> =>
  (await answerRollCall(database.pool, { functionId: 'f', attributes: {}, topic: null })).map(({ id }) => id);

test('a node whose main thread is silent for 5 s leaves the roll calls at once, and comes back with it [E3]', async () => {
  await touchNode(database.pool, row);
  const posted: FromThread['kind'][] = [];
  const keeper = new Keeper(database.pool, ({ kind }) => void posted.push(kind));
  const isAnswering = (expected: boolean) => async () => ((await answering()).length === 1) === expected;
  // The next heartbeat would come in an hour: the row changes with the thread.
  keeper.setBeat({ row, everyMs: HOUR_MS, silenceMs: HOUR_MS });
  keeper.look(HANGS_AFTER_MS - 1);
  await eventually(async () => (await hangsMs()) === HANGS_AFTER_MS - 1, { what: 'the first heartbeat' });
  expect(await answering()).toEqual(['a']);
  keeper.look(HANGS_AFTER_MS);
  await eventually(isAnswering(false), { what: 'the node to leave the roll calls' });
  expect(posted).toEqual([]);
  keeper.look(0);
  await eventually(isAnswering(true), { what: 'the node to answer again' });
  await eventually(() => posted.length > 0);
  expect(posted).toEqual(['answers']);
});
const hangsMs = async (): Promise<number> =>
  (
    await database.pool.query<{ ms: number }>(
      'select round(extract(epoch from seen_at - answered_at) * 1000)::int as ms from node',
    )
  ).rows[0]!.ms;

test('the heartbeat thread sees a main thread that is blocked, and tells it when it runs again [E3]', async () => {
  await touchNode(database.pool, row);
  let answers = 0;
  const heartbeat = new Heartbeat({
    pool: database.pool,
    log: pino({ level: 'silent' }),
    onAnswers: () => void answers++,
  });
  try {
    heartbeat.beat(row, 100, HOUR_MS);
    const { rows } = await database.pool.query<{ at: Date }>('select seen_at as at from node');
    await eventually(
      async () => (await database.pool.query('select from node where seen_at > $1', [rows[0]!.at])).rowCount === 1,
      { what: 'the first heartbeat of the thread' },
    );
    expect(answers).toBe(0);
    // Blocks this thread, as a function that computes does.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, HANGS_AFTER_MS + 1_000);
    await eventually(() => answers > 0, { what: 'the thread to say that its node answers again' });
  } finally {
    await heartbeat.stop();
  }
  expect(await answering()).toEqual(['a']);
});
