import { execFileSync } from 'node:child_process';
import { distPath } from '../../examples/paths';

/**
 * `bench:outcomes` in small, with more tasks than a call of the client takes.
 *
 * @slow
 */

test('what outcomes cost is printed, per call, per write and in whole rounds', () => {
  const args = [distPath('test/bench/outcomes/outcomes.js'), '--tasks', '12000', '--items', '1000', '--rounds', '1'];
  const out = execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 200_000, stdio: 'pipe' });
  const figures = JSON.parse(out) as Record<string, unknown>;
  for (const name of ['perCallUs', 'perWriteMs', 'writeShare', 'withUs', 'withoutUs', 'ratio', 'share'])
    expect([name, figures[name]]).toEqual([name, expect.any(Number)]);
  expect([figures['on'], figures['off']]).toEqual([[figures['withUs']], [figures['withoutUs']]]);
});
