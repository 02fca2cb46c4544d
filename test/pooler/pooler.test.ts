import { spawnSync } from 'node:child_process';
import { ROOT } from '../project/project';
import { FILES } from './files';
import { findPgBouncer } from './pgbouncer';

/**
 * `npm run test:pooler` as a part of `npm run test:full`, where a PgBouncer is installed; one file
 * at a time, beside the others.
 *
 * @full
 */

const program = findPgBouncer();
const jest = (args: readonly string[]): string => {
  const env = { ...process.env, MUSTER_TEST_POOLER: program!, MUSTER_TEST_NO_BUILD: '1' };
  const { status, stderr } = spawnSync('npx', ['jest', '--runInBand', ...args], { cwd: ROOT, env, encoding: 'utf8' });
  return status === 0 ? 'passed' : stderr.slice(-20_000);
};

if (program === null)
  test('PgBouncer is not installed here: nothing is tried', () => {
    expect(findPgBouncer()).toBeNull();
  });
else
  test.each([
    ['what a real PgBouncer lets through', ['--testMatch', '<rootDir>/test/pooler/*.pooler.ts']],
    ['some tests of each system', ['test/end-to-end/(submit|grouping|controls)\\.', ...FILES.slice(1)]],
  ])(
    '%s, in transaction mode',
    (_what, args) => {
      expect(jest(args)).toBe('passed');
    },
    1_200_000,
  );
