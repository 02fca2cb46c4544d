import { createStore } from '../../../examples/support/database';
import { numberFlag, processFlags, seedFlag } from '../../../examples/support/flags';
import { startPostgres } from '../../../workers/embedded';
import { createDatabase, TEMPLATE_DATABASE } from '../../helpers/database';
import { stress } from './stress';

/**
 * `npm run test:protocol -- --seconds 400 --seed 1`: the stress of the ring protocol. One JSON line
 * on stdout; exit 1 on any finding.
 */
const { seconds, seed } = processFlags(
  {
    name: 'npm run test:protocol --',
    summary: 'Strains the ring protocol with every death and repeat, on real connections.',
    result: 'One line of JSON on stdout. Exit code 1 on any finding.',
    examples: ['', '--seconds 400 --seed 1'],
  },
  { seconds: numberFlag(60, { text: 'how long, in seconds', unit: 's' }), seed: seedFlag() },
);

const main = async (): Promise<void> => {
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
