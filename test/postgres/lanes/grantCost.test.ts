import { defineHandler } from '../../../handlers';
import { createClient } from '../../../client';
import { Bench } from '../../bench/queuer/queuerBench';
import { createDatabase, temporalAddress } from '../../helpers/database';
import { explainSessions, readsIn } from '../../helpers/plans/reads';

/** What a grant reads must not grow with the lanes that have nothing to do. */

const IDLE = 10_000;
/** More than a grant of three lanes has rows of its own to read. */
const FEW = 50;
const LANES = ['lane', 'lane_state', 'lane_batch', 'lane_queue'];

test(`a grant reads a few rows beside ${IDLE} idle lanes`, async () => {
  const serial = defineHandler<{ service: string }>({
    name: 'serial',
    target: ({ service }) => service,
    limits: { maxItems: 10 },
    lane: { approach: 'serial' },
    submit: () => Promise.resolve({ results: [] }),
  });
  const database = await createDatabase();
  await explainSessions(database);
  const handlers = [serial];
  const client = createClient({
    databaseUrl: database.url,
    prefix: `t-${database.name}`,
    temporal: { address: temporalAddress() },
    handlers,
  });
  try {
    const reads = readsIn(client.pool);
    const bench = new Bench(client, new Map(handlers.map((one) => [one.name, one])));
    await bench.begin(3, 'one-round');
    await bench.submit(['a', 'b', 'c']);
    await client.pool.query({
      text: `
with l as (
  insert into lane (service, handler_id, kind, approach, on_invalid)
  select 'idle-' || i, h.id, 1, 1, 0 from generate_series(1, $1::int) i, handler h returning id)
insert into lane_state (lane_id, queuer_id) select id, 0 from l`,
      values: [IDLE],
    });
    await client.pool.query('analyze lane_state');
    reads.clear();
    const granted = await bench.grant(3);
    expect(granted.map(({ service }) => service).sort()).toEqual(['a', 'b', 'c']);
    expect([...reads.keys()]).toEqual(expect.arrayContaining(['find-ready-lanes', 'lock-ready-lanes']));
    const many = [...reads].flatMap(([name, all]) =>
      all.filter(({ relation, rows }) => LANES.includes(relation) && rows > FEW).map((read) => ({ name, ...read })),
    );
    expect(many).toEqual([]);
  } finally {
    await client.close();
    await database.drop();
  }
});
