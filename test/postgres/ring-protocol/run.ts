import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
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
    const { trace, ...said } = report;
    process.stdout.write(`${JSON.stringify(said)}\n`);
    if (trace !== '') {
      const file = path.join(tmpdir(), `muster-protocol-${seed}-${process.pid}.log`);
      await writeFile(file, trace);
      process.stderr.write(`the last statements: ${file}\n`);
    }
    process.exitCode = report.findings.length === 0 ? 0 : 1;
  } finally {
    await server.stop();
  }
};

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
