import { parseArgs } from 'node:util';
import { createStore } from '../../../examples/support/database';
import { startPostgres } from '../../../workers/embedded';
import { createDatabase, TEMPLATE_DATABASE } from '../../helpers/database';
import { stress } from './stress';

/** `npm run test:protocol -- --seconds 400 --seed 1`: the stress of the ring protocol. One JSON line on stdout; exit 1 on any finding. */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
  },
});
const numberOf = (name: 'seconds' | 'seed'): number => {
  const n = Number(values[name]);
  if (Number.isInteger(n) && n >= 0) return n;
  process.stderr.write(`--${name}: expected a whole number of at least 0, got "${values[name]}"\n`);
  process.exit(2);
};

const main = async (): Promise<void> => {
  const [seconds, seed] = [numberOf('seconds'), numberOf('seed')];
  const server = await startPostgres({ settings: { fsync: 'off' } });
  try {
    await createStore(server.url, TEMPLATE_DATABASE);
    process.env['MUSTER_TEST_POSTGRES_URL'] = server.url;
    const database = await createDatabase({ max: 10 });
    const report = await stress(database, seed, seconds);
    await database.drop();
    process.stdout.write(`${JSON.stringify(report)}\n`);
    process.exitCode = report.findings.length === 0 ? 0 : 1;
  } finally {
    await server.stop();
  }
};

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
