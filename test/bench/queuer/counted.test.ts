import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { distPath } from '../../examples/paths';
import type { Measure } from './queuerMeasure';

/**
 * `bench:queuer` in small: what does not depend on the machine. The long form: `npm run
 * bench:queuer`.
 *
 * @full
 */
const SIZES = ['--backlog', '300', '--grants', '100', '--batches', '32', '--commit', '20', '--flow', '240'];

test('grants are fair, in order, and as many as may be; a batch costs one call and less than an action', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    distPath('test/bench/queuer.js'),
    '--counted',
    ...SIZES,
  ]);
  const measures = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Measure);
  const promised = measures.filter(({ promise }) => promise !== undefined);
  expect(promised.filter(({ kept }) => kept !== true)).toEqual([]);
  // Shares, fairness, the late one; a serial lane and three parallel ones; two for each flow.
  expect(promised).toHaveLength(3 + 4 + 2 * 4);
});
