import path from 'node:path';
import { processFlags, switchFlag, textFlag } from '../../../examples/support/flags';
import { progressBar } from '../../../client/cli/support/progress';
import globalSetup from '../../helpers/global-setup';
import globalTeardown from '../../helpers/global-teardown';
import { ROOT } from '../../project/project';
import { judge } from '../judge';
import { readJestConfig, WarmJest } from '../warmJest';
import type { Defect } from './defects';
import { DEFECTS } from './defects';
import { plant } from './plant';

/** `npm run mutants:wiring`: whether the tests see each defect of a list that was made by hand. */
const flags = processFlags(
  {
    name: 'npm run mutants:wiring --',
    summary: 'Plants defects in the wiring one at a time, and runs the test of `npm test` that is to see each.',
    result: 'A line per defect. Exit code 1 if one is not seen, or a test fails without it.',
    examples: ['', '--system lanes', '--json'],
  },
  {
    system: textFlag(undefined, { text: 'grouping, lanes, fan-outs, executions or nodes', as: 'name', unset: 'all' }),
    json: switchFlag('one line of JSON per defect on stdout'),
  },
);

/** A test file that takes longer hangs. */
const LIMIT_MS = 300_000;

const tell = (defect: Defect, isSeen: boolean, failure: string | undefined): void => {
  const { system, what, file, test } = defect;
  const line = flags.json
    ? JSON.stringify({ system, what, file, test, seen: isSeen, failure: failure?.slice(0, 300) })
    : `${isSeen ? 'seen    ' : 'NOT SEEN'} ${system}: ${what} (${file}; ${test})`;
  process.stdout.write(`${line}\n`);
};

const main = async (): Promise<void> => {
  const defects = DEFECTS.filter(({ system }) => flags.system === undefined || system === flags.system);
  if (defects.length === 0)
    throw new Error(`Cannot plant in ${flags.system}: it is no system. Name one that --help lists.`);
  await globalSetup();
  const jest = new WarmJest(await readJestConfig('jest.config.js'));
  const bar = progressBar(process.stderr, 'defects', defects.length, '');
  const green = new Map<string, number>();
  let seen = 0;
  try {
    for (const [done, defect] of defects.entries()) {
      const { test } = defect;
      const clean = { file: path.join(ROOT, test), swaps: [], only: null };
      if (!green.has(test)) {
        const outcome = await jest.run(clean, LIMIT_MS);
        if (outcome === null || outcome.hasFailed)
          throw new Error(`Cannot judge: ${test} fails without a defect. ${outcome?.failure ?? 'It does not end.'}`);
        green.set(test, outcome.ms);
      }
      const { verdict, failure } = await judge(jest, plant(defect), [{ file: test, only: null, ms: green.get(test)! }]);
      const isSeen = verdict === 'killed' || verdict === 'endless';
      if (isSeen) seen++;
      tell(defect, isSeen, failure);
      bar.update(done + 1);
    }
  } finally {
    bar.stop();
    await jest.stop();
    await globalTeardown();
  }
  process.stderr.write(`${seen} of ${defects.length} defects seen\n`);
  if (seen < defects.length) process.exitCode = 1;
};

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
