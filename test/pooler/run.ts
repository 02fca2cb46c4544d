import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { processFlags, textFlag } from '../../examples/support/flags';
import { runToEnd } from '../helpers/runToEnd';
import { FILES } from './files';
import { findPgBouncer } from './pgbouncer';

/** `npm run test:pooler`: tests through a real PgBouncer in transaction mode. */
const flags = processFlags(
  {
    name: 'npm run test:pooler --',
    summary: 'Runs tests through PgBouncer in transaction mode, which must be installed (Debian: pgbouncer).',
    result: 'The tests. Exit code 1 if one fails; 2 without a PgBouncer: then nothing was tried.',
    examples: ['', '--files test/end-to-end/submit'],
  },
  {
    files: textFlag(undefined, {
      text: 'pattern of the test files that run through it',
      as: 'pattern',
      unset: 'those of test/end-to-end, and one or more of each system',
    }),
  },
);

const ROOT = path.join(__dirname, '..', '..');

const jest = (args: readonly string[], env: NodeJS.ProcessEnv): boolean =>
  spawnSync('npx', ['jest', ...args], { cwd: ROOT, env: { ...process.env, ...env }, stdio: 'inherit' }).status === 0;

runToEnd(async () => {
  const program = findPgBouncer();
  if (program === null) {
    process.stderr.write('Cannot test behind a pooler: expected the program pgbouncer, got none. Install it.\n');
    process.exitCode = 2;
    return;
  }
  process.stdout.write(`Through ${program}:\n`);
  const files = flags.files === undefined ? FILES : [flags.files];
  const passes = flags.files !== undefined || jest(['--testMatch', '<rootDir>/test/pooler/*.pooler.ts'], {});
  return jest(files, { MUSTER_TEST_POOLER: program }) && passes;
});
