import { parseArgs } from 'node:util';
import { createStore } from '../../examples/support/database';
import { createPool } from '../../postgres/pool';
import { verifyStore } from '../../postgres/verify';
import { startPostgres } from '../../workers/embedded';
import { isExactlyOnce, LOOK_THEN_REPORT, race } from './races';

/**
 * `npm run test:fanout -- --trials 10000`: both races, so often each, on real connections. A JSON line a race; exit 1 if any trial did not
 * report its completion exactly once. `--planted`: without `open_segments`, as a proof that the race would be seen; then exit 1 is the proof.
 */
const { values } = parseArgs({
  options: { trials: { type: 'string', default: '10000' }, planted: { type: 'boolean', default: false } },
});
const trials = Number(values.trials);
if (!Number.isInteger(trials) || trials < 1) {
  process.stderr.write(`--trials: expected a whole number from 1 on, got "${values.trials}"\n`);
  process.exit(2);
}

const main = async (): Promise<void> => {
  const server = await startPostgres({ settings: { fsync: 'off' }, log: () => undefined });
  try {
    const databaseUrl = await createStore(server.url, 'races');
    const open = () => createPool({ databaseUrl, max: 6 });
    const pools = [open(), open()] as const;
    if (values.planted) await pools[0].query('create table planted_seal (fanout uuid)');
    for (const kind of ['two last acks', 'seal against last ack'] as const) {
      const report = await race(kind, pools, trials, ...(values.planted ? [LOOK_THEN_REPORT] : []));
      process.stdout.write(`${JSON.stringify(report)}\n`);
      if (!isExactlyOnce(report)) process.exitCode = 1;
    }
    if (!values.planted) {
      const ok = (await verifyStore(pools[0])).every(({ violations }) => violations.length === 0);
      if (!ok) process.exitCode = 1;
      process.stdout.write(`${JSON.stringify({ verify: ok })}\n`);
    }
    for (const pool of pools) await pool.end();
  } finally {
    await server.stop();
  }
};

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
