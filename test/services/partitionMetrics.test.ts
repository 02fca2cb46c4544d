import { defineHandler } from '../../handlers';
import { startMetrics } from '../../workers/metrics/server';
import { eventually } from '../helpers/eventually';
import { startMuster } from '../helpers/muster';

test('partitions by state, moves, and how many this process holds', async () => {
  const orders = defineHandler<{ shop: string }>({
    name: 'orders',
    target: ({ shop }) => shop,
    limits: { maxItems: 5 },
    affinity: { partitions: 6 },
    submit: (batch) => Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
  });
  const muster = await startMuster([orders]);
  const { partitions } = muster.node.deps;
  const server = await startMetrics({ pool: muster.database.pool, port: 0, partitions });
  try {
    const read = async (): Promise<string> => (await fetch(`${server.url}/metrics`)).text();
    const lines = [
      'muster_partitions_held 6',
      'muster_partitions{handler="orders",state="held"} 6',
      'muster_partitions{handler="orders",state="revoked"} 0',
      'muster_partitions{handler="orders",state="free"} 0',
      'muster_partition_moves{handler="orders"} 6',
    ];
    // Each process says what it holds by itself; what the store says is read now and then.
    await eventually(async () => {
      const text = await read();
      return lines.every((line) => text.includes(line));
    });
    // The sign that one is asked back, and that one is nobody's, is the row alone.
    await muster.database.pool.query(`update lease set revoked_at = clock() where resource = 'partition/orders/0'`);
    await muster.database.pool.query(
      `update lease set holder = null, expires_at = clock() where resource = 'partition/orders/1'`,
    );
    await eventually(async () => /state="held"\} [45]\n/.test(await read()) || null, { everyMs: 50 });
  } finally {
    await server.stop();
    await muster.stop();
  }
});
