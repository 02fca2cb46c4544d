import { runTrial } from './trial';

/**
 * The ledger example in short (C1, C9-C11, C16-C18): real ledger and workers, killed in turns, and
 * the ledger's own account compared with one submitter alone. The long form: `npm run
 * example:ledger`.
 *
 * @full
 */

interface Result {
  isEqual: boolean;
  isWhole: boolean;
  kills: number;
  lost: number[];
  twice: number[];
  inversions: unknown[];
  wrongPrices: string[];
  violations: unknown[];
  ends: Record<string, number>;
}

test.each([
  ['serial', 'one-round'],
  ['parallel', 'per-service'],
])(
  '%s, %s: under kills nothing is lost, applied twice, or overtaken',
  async (approach, strategy) => {
    const size = [
      '--services',
      '6',
      '--batches',
      '36',
      '--submitters',
      '4',
      '--commit-ms',
      '250',
      '--kill-every',
      '1s',
    ];
    const result = await runTrial<Result>('ledger', [...size, '--approach', approach, '--strategy', strategy]);
    expect(result).toMatchObject({
      lost: [],
      twice: [],
      inversions: [],
      wrongPrices: [],
      violations: [],
      isEqual: true,
      isWhole: true,
    });
    expect(result.kills).toBeGreaterThan(0);
    expect(Object.values(result.ends).reduce((sum, n) => sum + n, 0)).toBe(36);
  },
  240_000,
);
