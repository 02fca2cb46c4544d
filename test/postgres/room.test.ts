import { defineHandler } from '../../handlers';
import { releaseBusyTargets } from '../../postgres/grouping/claim';
import type { Bench } from '../workflows/bench';
import { openBench } from '../workflows/bench';

/** When a target that was at its limit takes part again: below it, by calls and by weight. */

const common = {
  target: ({ to }: { to: string }) => to,
  linger: { lingerMs: 0 },
  leaders: 1,
  submit: () => Promise.resolve({ results: [] }),
};
const counted = defineHandler<{ to: string }>({
  ...common,
  name: 'counted',
  limits: { maxItems: 1 },
  concurrency: { perTarget: 2 },
});
const weighed = defineHandler<{ to: string }>({
  ...common,
  name: 'weighed',
  weightOf: () => 3,
  limits: { maxItems: 1, maxWeight: 3, maxWeightInFlight: { perTarget: 6 } },
  concurrency: { perTarget: 10 },
});

let bench: Bench;
beforeEach(async () => {
  bench = await openBench([counted, weighed]);
});
afterEach(() => bench.stop());

test.each([
  [
    'calls',
    'counted',
    (n: number) => `update batch set dispatch = case when id - (select min(id) from batch) < ${n} then 1 end`,
    2,
  ],
  [
    'weight',
    'weighed',
    (n: number) => `update batch set weight = case when id = (select min(id) from batch) then ${n} else 0 end`,
    6,
  ],
] as const)('a target at its limit of %s stays busy; below it, it is released', async (_, handler, inFlight, limit) => {
  const { pool } = bench.database;
  await bench.client.submit(
    handler,
    ['a', 'b', 'c', 'd'].map((id) => ({ id, payload: { to: 't' } })),
  );
  const leaderId = (await pool.query<{ id: number }>('select id from leader')).rows[0]!.id;
  await bench.turn({ runId: 'run', runStartedAtMs: 1_000 }, 1, { leaderId });
  const { rows } = await pool.query<{ id: number }>('update target set busy = true returning id');
  for (const [n, released] of [
    [limit, []],
    [limit - 1, [rows[0]!.id]],
  ] as const) {
    await pool.query(inFlight(n));
    expect(await releaseBusyTargets(pool, leaderId)).toEqual(released);
  }
});
