import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { distPath } from '../../examples/paths';

/**
 * `bench:execution` in small: what does not depend on the machine. The long form: `npm run
 * bench:execution`; figures: docs/performance.md.
 *
 * @slow
 */

interface Result {
  nodes: number;
  items: number;
  calls: number;
  actions: number;
}

test('each item is run once, and an execution costs an action per node and two more', async () => {
  const args = ['--items', '2000', '--chunks', '2', '--nodes', '1,4', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, [distPath('test/bench/execution.js'), ...args]);
  const { results } = JSON.parse(stdout) as { results: Result[] };
  expect(results.map(({ nodes, items, calls }) => ({ nodes, items, calls }))).toEqual([
    { nodes: 1, items: 2_000, calls: 2_000 },
    { nodes: 4, items: 2_000, calls: 2_000 },
  ]);
  // One more if it is woken again.
  for (const { nodes, actions } of results) expect([nodes + 2, nodes + 3]).toContain(actions);
});
