import { execFile } from 'node:child_process';
import { distPath } from '../../examples/paths';

/**
 * `bench:tenants` in small: what it counts, not how long things take.
 *
 * @full
 */

interface Side {
  sent: number;
  accepted: number;
}
interface Measure {
  measure: string;
  case?: string;
  alone: Side;
  beside: Side;
  floods: { accepted: Record<string, number> }[];
  accepted: number[];
  downstream: number[];
  lost: number;
}

test('beside a flood and among equals, every task that was accepted succeeds', async () => {
  const out = await new Promise<string>((resolve, reject) => {
    execFile(
      process.execPath,
      [distPath('test/bench/tenants/tenants.js'), '--short'],
      { timeout: 200_000 },
      (error, stdout, stderr) => (error === null ? resolve(stdout) : reject(new Error(`${stdout}\n${stderr}`))),
    );
  });
  const measures = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Measure);
  const [equals, all] = measures.slice(3);
  expect(measures.map(({ measure, case: name }) => name ?? measure)).toEqual([
    'own target',
    'own handler',
    'same target',
    'equal tenants',
    'all',
  ]);
  for (const { alone, beside, floods, lost } of measures.slice(0, 3)) {
    expect({ sent: alone.sent, accepted: alone.accepted, lost }).toEqual({ sent: 20, accepted: 20, lost: 0 });
    expect(beside.sent).toBe(20);
    expect(floods[0]!.accepted['flood']).toBeGreaterThan(0);
  }
  for (const n of [...equals!.accepted, ...equals!.downstream]) expect(n).toBeGreaterThan(0);
  expect(equals!.accepted).toHaveLength(2);
  expect(all).toEqual({ measure: 'all', lost: 0, verify: true });
});
