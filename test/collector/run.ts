import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { processFlags } from '../../examples/support/flags';
import { runToEnd } from '../helpers/runToEnd';
import { buildJaeger } from './jaeger';

/** `npm run test:collector`: spans that a real collector has received and stored. */
processFlags(
  {
    name: 'npm run test:collector --',
    summary: 'Sends traces to Jaeger by OTLP and reads them from it. Needs Go and a module proxy.',
    result: 'The tests, and the traces as they are stored. Exit code 1 if one fails, or if Jaeger cannot be built.',
    examples: [''],
  },
  {},
);

const ROOT = path.join(__dirname, '..', '..');

runToEnd(() => {
  buildJaeger((line) => process.stderr.write(`${line}\n`));
  const args = ['jest', '--testMatch', '<rootDir>/test/collector/*.collector.ts'];
  return Promise.resolve(spawnSync('npx', args, { cwd: ROOT, stdio: 'inherit' }).status === 0);
});
