import { storeExecution } from '../../client/executions/execute';
import { anotherNode } from '../helpers/anotherNode';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import type { Skipping } from '../helpers/skippingMuster';
import { startSkipping } from '../helpers/timeSkipping';
import { lists } from './helpers';
import { Starts } from './starts';

const MINUTE_MS = 60_000;

/**
 * E3, E7, E8 on the time-skipping server: the roll call's 5 s, the start-up delay of 1 min, the
 * requeue interval of 1 h.
 */
describe('waits of an execution', () => {
  let skipping: Skipping;
  beforeAll(async () => {
    skipping = await startSkipping([], { executions: { leaseMs: 1_000 } });
  });
  afterAll(() => skipping.stop());

  const row = async (id: string) =>
    (
      await skipping.database.pool.query<{ turn: number; note: string | null; round: number; state: number }>(
        'select turn, note, round, state from execution where id = $1',
        [id],
      )
    ).rows[0]!;
  const turn = (id: string, n: number) =>
    eventually(async () => ((now) => now.turn >= n && now.note !== 'x' && now)(await row(id)));
  const pass = (ms: number): Promise<unknown> => skipping.env.sleep(ms);
  const ghost = (): Promise<unknown> =>
    skipping.database.pool.query(
      `insert into node (id, task_queue, batch, started_at, seen_at) values ('ghost', '', true, clock(), clock() + interval '1 day')`,
    );

  // Before the other, after which the server passes time no faster than it goes.
  test('after a restart, executions are resumed after the start-up delay, however many [E7]', async () => {
    const ids: string[] = [];
    for (let i = 0; i < rounds(12, 40); i++)
      ids.push((await storeExecution(skipping.database.pool, { functionId: 'f', method: 'run' }, lists(1), {})).id);
    await skipping.database.pool.query(`update execution set resume_at = clock() - interval '1 s'`);
    const starts = new Starts();
    const startedAt = performance.now();
    // Its operator has set no delay.
    const options = { sweepEveryMs: 100, interceptors: starts.interceptors };
    const sweeping = await anotherNode(skipping, [], options, skipping.env.address);
    await eventually(() => ids.every((id) => starts.of(id) !== undefined));
    const tookMs = performance.now() - startedAt;
    const delays = starts.all.map(({ resumeAfterMs }) => resumeAfterMs);
    // What is left of the minute when the sweeper finds them.
    expect(Math.max(...delays)).toBeLessThanOrEqual(MINUTE_MS);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(MINUTE_MS - Math.ceil(tookMs));
    await pass(Math.min(...delays) - 1_000);
    for (const id of ids) expect(await row(id)).toMatchObject({ turn: 0 });
    await pass(Math.max(...delays) - Math.min(...delays) + 2_000);
    for (const id of ids) await turn(id, 1);
    for (const id of ids) await skipping.client.execution(id).cancel();
    await sweeping.stop();
  });

  test('a roll call lasts 5 s; E8: without a node it is held again after the requeue interval [E3]', async () => {
    const execution = await skipping.client.execute({ functionId: 'f', method: 'run' }, lists(3));
    const { id } = execution;
    await eventually(async () => (await row(id)).note?.startsWith('roll call: 0 of 1'));
    await pass(4_000);
    expect(await row(id)).toMatchObject({ turn: 1 });
    await pass(1_500);
    await turn(id, 2);
    await eventually(async () => (await row(id)).note?.startsWith('no node answered the roll call (1 wanted)'));
    expect((await execution.status()).state).toBe('created');
    await ghost(); // and nobody says so
    await pass(3_500_000);
    expect(await row(id)).toMatchObject({ turn: 2, round: 0, state: 0 });
    await pass(110_000);
    await turn(id, 3);
    await eventually(async () => (await row(id)).round >= 1, {
      what: async () =>
        `a round, but ${JSON.stringify([await row(id), (await skipping.database.pool.query('select id, batch, draining, seen_at, attributes, clock() from node')).rows])}`,
    });
    expect(await execution.cancel()).toMatchObject({ state: 'cancelled', counts: { created: 3 } });
    await skipping.database.pool.query('delete from node where batch');
  });
});
