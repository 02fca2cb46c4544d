import { Pace } from '../../../workers/sweeper/backOff';
import { ROUND_MS } from '../../../workers/sweeper/sweeper';

/** How fast the sweeper of a worker goes round the targets that have queued tasks (G14). */

describe('the pace of the cycles', () => {
  /**
   * Runs cycles that need `readMs` of reading each; answers the time from start to start of the
   * later ones, and the share of reading.
   */
  const cycles = (readMs: number): { longest: number; share: number } => {
    let now = 0;
    const pace = new Pace(ROUND_MS, () => now);
    const starts: number[] = [];
    for (let i = 0; i < 6; i++) {
      pace.begin();
      starts.push(now);
      for (let left = readMs; left >= 0;) {
        const part = Math.min(left, pace.budgetMs());
        now += part;
        left -= part;
        pace.took(part, left === 0);
        now += pace.pauseMs(left === 0);
        if (left === 0) break;
      }
    }
    const lengths = starts.slice(2).map((start, i) => start - starts[i + 1]!);
    return { longest: Math.max(...lengths), share: readMs / Math.max(...lengths) };
  };
  test.each([
    [1, 2_000, 0.001],
    [700, 2_800, 0.25],
    [1_000, 4_000, 0.25],
    [2_000, 4_000, 0.5],
  ])('%i ms of reading: a cycle of at most %i ms, reading at most that share', (readMs, longest, share) => {
    const measured = cycles(readMs);
    expect(measured.longest).toBeLessThanOrEqual(longest + 1);
    expect(measured.share).toBeLessThanOrEqual(share + 0.001);
  });
});
