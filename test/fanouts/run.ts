import { createStore } from '../../examples/support/database';
import { numberFlag, processFlags, switchFlag } from '../../examples/support/flags';
import { createPool } from '../../postgres/pool';
import { verifyStore } from '../../postgres/operations/verify';
import { startPostgres } from '../../workers/embedded';
import { isExactlyOnce, LOOK_THEN_REPORT, race } from './races';

/**
 * `npm run test:fanout -- --trials 10000`: both races, so often each, on real connections. A JSON
 * line a race; exit 1 if any trial did not report its completion exactly once. `--planted`: without
 * `open_segments`, as a proof that the race would be seen; then exit 1 is the proof.
 */
const { trials, planted } = processFlags(
  {
    name: 'npm run test:fanout --',
    summary:
      'The two races for the completion of a fan-out (two last acks, seal against last ack), each so often, on real connections.',
    result: 'One line of JSON a race on stdout. Exit code 1 if any trial did not report its completion exactly once.',
    examples: ['', '--trials 200 --planted'],
  },
  {
    trials: numberFlag(10_000, { text: 'trials of each race', min: 1 }),
    planted: switchFlag('without open_segments: shows that the race would be seen; then exit code 1 is the proof'),
  },
);

const main = async (): Promise<void> => {
  const server = await startPostgres({ settings: { fsync: 'off' }, log: () => undefined });
  try {
    const databaseUrl = await createStore(server.url, 'races');
    const open = () => createPool({ databaseUrl, max: 6 });
    const pools = [open(), open()] as const;
    if (planted) await pools[0].query('create table planted_seal (fanout uuid)');
    for (const kind of ['two last acks', 'seal against last ack'] as const) {
      const report = await race(kind, pools, trials, ...(planted ? [LOOK_THEN_REPORT] : []));
      process.stdout.write(`${JSON.stringify(report)}\n`);
      if (!isExactlyOnce(report)) process.exitCode = 1;
    }
    if (!planted) {
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
