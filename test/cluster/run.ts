import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { numberFlag, processFlags, textFlag } from '../../examples/support/flags';
import { runToEnd } from '../helpers/runToEnd';
import { FILES } from '../pooler/files';

/** `npm run test:cluster`: tests on a real Temporal server, with its store in Postgres. */
const flags = processFlags(
  {
    name: 'npm run test:cluster --',
    summary: 'Runs tests on a real Temporal server in place of the dev server. Needs Go 1.26 and a module proxy.',
    result: 'The tests. Exit code 1 if one fails, or if the server cannot be built.',
    examples: ['', '--shards 512 --files test/end-to-end/submit'],
  },
  {
    shards: numberFlag(4, { text: 'history shards of the server', min: 1, max: 16_384 }),
    files: textFlag(undefined, {
      text: 'pattern of the test files that run on it',
      as: 'pattern',
      unset: 'those of test/end-to-end, and one or more of each system',
    }),
  },
);

const ROOT = path.join(__dirname, '..', '..');

runToEnd(() => {
  const files = flags.files === undefined ? FILES : [flags.files];
  const env = { ...process.env, MUSTER_TEST_SHARDS: String(flags.shards) };
  return Promise.resolve(spawnSync('npx', ['jest', ...files], { cwd: ROOT, env, stdio: 'inherit' }).status === 0);
});
