import { startServers } from '../rig/servers';
import { FlowBench } from './queuerFlow';
import type { FlowKind } from './queuerHandler';

/**
 * `node dist/test/bench/queuer/queuerProfile.js <answers|accepts> <batches> <lanes> <submitters>`: one
 * flow with pg_stat_statements.
 */
async function main(): Promise<void> {
  const [kind = 'answers', batches = '2000', lanes = '100', submitters = '16', ...nodeArgs] = process.argv.slice(2);
  const servers = await startServers(true);
  try {
    const databaseUrl = await servers.createMusterDatabase('flow');
    const bench = await FlowBench.open(databaseUrl, servers.temporal, nodeArgs);
    const { pool } = bench.client;
    await bench.run({ kind: kind as FlowKind, batches: 100, lanes: 10, submitters: 4 });
    await pool.query('create extension if not exists pg_stat_statements');
    await pool.query('select pg_stat_statements_reset()');
    const flow = await bench.run({
      kind: kind as FlowKind,
      batches: Number(batches),
      lanes: Number(lanes),
      submitters: Number(submitters),
    });
    const { rows } = await pool.query<Record<string, string>>(
      `select calls, round(total_exec_time::numeric, 0) as ms, round(mean_exec_time::numeric, 3) as mean, regexp_replace(left(query, 130), '\\s+', ' ', 'g') as query
       from pg_stat_statements order by total_exec_time desc limit 30`,
    );
    process.stdout.write(`${JSON.stringify(flow)}\n`);
    for (const row of rows)
      process.stdout.write(
        `${String(row['calls']).padStart(7)} ${String(row['ms']).padStart(7)} ${String(row['mean']).padStart(8)}  ${row['query']}\n`,
      );
    await bench.close();
  } finally {
    await servers.stop();
  }
}

void main();
