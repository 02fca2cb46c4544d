import type { Batch, ItemResult, SubmitAnswer } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import { countNotedEnds, noteEnds } from '../../../postgres/outcomes/uncounted';
import { inTransaction } from '../../../postgres/pool';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { expectWhole } from '../../helpers/whole';

/** Ends that no call of a worker made are counted once, by the transactions that make them. */

type Job = { to: string; ends?: ItemResult['status'] };
const submit = async ({ tasks, target }: Batch<Job>): Promise<SubmitAnswer> => {
  if (target === 'told') return { status: 'accepted', reference: tasks[0]!.id };
  if (tasks.some(({ payload }) => payload.ends === 'unknown')) throw new Error('no answer');
  return { results: tasks.map(({ id, payload: { ends = 'ok' } }): ItemResult => ({ id, status: ends, error: 'so' })) };
};
const base = { target: ({ to }: Job) => to, limits: { maxItems: 8 }, linger: { lingerMs: 0 }, submit };
const delayed = { baseMs: 3_600_000, maxMs: 3_600_000 };
const plain = defineHandler<Job>({ name: 'plain', ...base });
const laned = defineHandler<Job>({
  ...base,
  name: 'laned',
  service: (target) => target,
  lane: { onInvalid: 'halt' },
  retry: { inPlace: { times: 0 }, delayed },
});

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([plain, laned], { sweepEveryMs: 500 });
});
afterAll(async () => {
  await expectWhole(muster.client);
  await muster.stop();
});

/** Tasks by the end that the store holds of them, and by the end that was counted. */
const held = async (handler: string): Promise<Record<string, number>> => {
  const { rows } = await muster.database.pool.query<{ state: string; n: number }>(
    `select case s.state when 4 then 'succeeded' when 5 then 'failed' when 6 then 'dead' when 7 then 'cancelled' end
       as state, count(*)::int as n
     from task_state s join task k on k.seq = s.seq join target t on t.id = k.target_id
       join handler h on h.id = t.handler_id
     where h.name = $1 and s.state in (4, 5, 6, 7) /* ended */
     group by s.state`,
    [handler],
  );
  return {
    succeeded: 0,
    failed: 0,
    dead: 0,
    cancelled: 0,
    ...Object.fromEntries(rows.map(({ state, n }) => [state, n])),
  };
};
const counted = async (handler: string): Promise<Record<string, number>> => {
  const { outcomes } = await muster.client.outcomes.list({ handler });
  const sum = (end: 'succeeded' | 'failed' | 'dead' | 'cancelled'): number =>
    outcomes.reduce((all, { ends }) => all + ends[end], 0);
  return { succeeded: sum('succeeded'), failed: sum('failed'), dead: sum('dead'), cancelled: sum('cancelled') };
};
/** What is counted comes to what the store holds. */
const expectCounted = async (handler: string): Promise<Record<string, number>> => {
  const expected = await held(handler);
  await eventually(async () => JSON.stringify(await counted(handler)) === JSON.stringify(expected));
  return expected;
};

const job = (id: string, to: string, more: object = {}) => ({ id, payload: { to }, ...more });
const lost = (id: string, to: string) => ({ id, payload: { to, ends: 'unknown' as const } });
const parked = (...ids: string[]): Promise<unknown> =>
  eventually(async () => (await muster.client.getTasks(ids)).every(({ state }) => state === 'unknown'));

test('what a completion, resolve, cancel, a bulk action, expiry and a dependency end is counted', async () => {
  const { client } = muster;
  const notBefore = new Date('2100-01-01');
  await client.submit('plain', [
    ...['c1', 'c2', 'c3'].map((id) => job(id, 'waits', { notBefore })),
    ...['b1', 'b2'].map((id) => job(id, 'waits', { notBefore, tags: ['bulk'] })),
    job('e1', 'waits', { notBefore, expiresAt: new Date(Date.now() + 1_000) }),
    job('after c1', 'there', { dependsOn: ['c1'] }),
  ]);
  await client.cancel(['c1', 'c2', 'c3']);
  const { id } = await client.bulk.start({ handler: 'plain', where: { tag: 'bulk' }, action: { do: 'cancel' } });
  await client.submit('plain', [lost('u1', 'u1'), lost('u2', 'u2'), lost('u3', 'u3')]);
  await parked('u1', 'u2', 'u3');
  await client.resolve({ tasks: ['u1', 'u2'] }, { as: 'succeeded' });
  const { batch } = (await client.getTask('u3'))!;
  await client.resolve({ batch: batch! }, { as: 'failed' });
  await client.submit('plain', [job('t1', 'told'), job('t2', 'told'), job('t3', 'told')]);
  const isAccepted = { text: 'select n from batch where reference = $1', values: ['t1'] };
  const { rows } = await eventually(async () => {
    const found = await muster.database.pool.query<{ n: number }>(isAccepted);
    return found.rowCount === 1 && found;
  });
  expect(rows[0]!.n).toBe(3);
  const results = ['ok', 'failed', 'ok'].map((status, i) => ({ id: `t${i + 1}`, status: status as 'ok' }));
  await client.complete('plain', { reference: 't1', results });
  expect((await client.complete('plain', { reference: 't1', results })).repeated).toBe(true);
  await client.waitFor(['e1', 'after c1', 'b1', 'b2'], { timeoutMs: 30_000 });
  expect((await client.bulk.get(id))!.done).toBe(2);
  expect(await expectCounted('plain')).toEqual({ succeeded: 4, failed: 4, dead: 0, cancelled: 5 });
});

test('what ends in a lane by hand is counted', async () => {
  const { client } = muster;
  await client.submit('laned', [lost('s1', 'skipped'), lost('f1', 'fixed'), { ...lost('r1', 'gone') }]);
  await parked('s1', 'f1', 'r1');
  await client.lanes.skip('skipped');
  await client.lanes.fix('fixed', { as: 'applied' });
  await client.lanes.fix('gone', { as: 'applied' });
  await client.lanes.pause('gone');
  await client.submit('laned', [job('r2', 'gone')]);
  await client.cancel('r2');
  expect(await expectCounted('laned')).toEqual({ succeeded: 2, failed: 1, dead: 0, cancelled: 1 });
});

test('no transaction that notes ends waits for another, and what is rolled back is not counted', async () => {
  const { pool } = muster.database;
  const before = await counted('laned');
  const one = [{ handler: 'laned', ends: [0, 0, 1] }];
  const broken = inTransaction(pool, async (first) => {
    await noteEnds(first, one);
    await inTransaction(pool, async (second) => {
      await second.query("set local lock_timeout = '100ms'");
      await noteEnds(second, one);
      await noteEnds(second, one);
    });
    await countNotedEnds(pool);
    throw new Error('rolled back');
  });
  await expect(broken).rejects.toThrow('rolled back');
  await countNotedEnds(pool);
  expect(await counted('laned')).toEqual({ ...before, dead: 2 });
  expect((await pool.query('select from uncounted_end')).rowCount).toBe(0);
});

test('a minute with ends and without calls has histograms of zeros', async () => {
  const { pool } = muster.database;
  await pool.query(`delete from outcome_minute where handler_id = (select id from handler where name = 'laned')`);
  await inTransaction(pool, (tx) => noteEnds(tx, [{ handler: 'laned', ends: [3] }]));
  await countNotedEnds(pool);
  const { outcomes, bounds } = await muster.client.outcomes.list({ handler: 'laned' });
  expect(outcomes).toMatchObject([{ ends: { succeeded: 3, cancelled: 0 }, calls: { results: 0 }, p50Ms: null }]);
  expect(outcomes[0]!.latency).toHaveLength(bounds.latencyMs.length + 1);
});
