import { execFile } from 'node:child_process';
import { distPath } from '../examples/paths';

/**
 * `bench:api` in small: nothing that was accepted is lost, all else is refused, memory does not
 * grow with each flood. Figures: docs/performance.md.
 *
 * @slow
 */

test('HTTP API: more open requests than it takes: 503, nothing accepted and lost, memory flat', async () => {
  const out = await new Promise<string>((resolve, reject) => {
    execFile(
      process.execPath,
      [distPath('test/bench/api.js'), '--short'],
      { timeout: 200_000 },
      (error, stdout, stderr) => (error === null ? resolve(stdout) : reject(new Error(`${stdout}\n${stderr}`))),
    );
  });
  const measures = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(measures.map(({ measure }) => measure)).toEqual(['single submit', 'submit of 1,000', 'ack of 1,000', 'flood']);
  const flood = measures[3] as {
    leftBytes: number;
    floods: { requests: number; accepted: number; refused: number; others: number; otherwise: string[] }[];
  };
  expect(flood).toMatchObject({ lost: 0, verify: true });
  expect(flood.leftBytes).toBeLessThanOrEqual(200); // of each request
  for (const { requests, accepted, refused, otherwise } of flood.floods) {
    expect({ answered: accepted + refused, otherwise }).toEqual({ answered: requests, otherwise: [] });
    expect([accepted > 0, refused > 0]).toEqual([true, true]);
  }
});
