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
    [875, 3_500, 0.25],
    [1_750, 3_500, 0.5],
  ])('%i ms of reading: a cycle of at most %i ms, reading at most that share', (readMs, longest, share) => {
    const measured = cycles(readMs);
    expect(measured.longest).toBeLessThanOrEqual(longest + 1);
    expect(measured.share).toBeLessThanOrEqual(share + 0.001);
  });

  /** Pages of a cycle, and what the other steps of a round take (ms). */
  const PAGES = 20;
  const OTHERS_MS = 200;

  /**
   * Runs cycles that need so much reading one after the other; returns the longest from one look
   * at a page to the next.
   */
  const longestGap = (reads: readonly number[]): number => {
    let now = 0;
    const pace = new Pace(ROUND_MS, () => now);
    const seen = Array.from({ length: PAGES }, () => 0);
    let longest = 0;
    for (const readMs of reads) {
      pace.begin();
      for (let page = 0; page < PAGES;) {
        const startedAt = now;
        for (const until = now + pace.budgetMs(); page < PAGES && (now < until || now === startedAt); page++) {
          now += readMs / PAGES;
          if (seen[page]! > 0) longest = Math.max(longest, now - seen[page]!);
          seen[page] = now;
        }
        pace.took(now - startedAt, page === PAGES);
        now += OTHERS_MS + pace.pauseMs(page === PAGES);
      }
    }
    return longest;
  };

  test.each([
    ['steady', [1_700, 1_700, 1_700, 1_700]],
    ['a backlog that came at once', [1, 1_700, 1_700]],
    ['a machine that became three times slower', [600, 600, 1_700, 1_700]],
    ['slow and fast in turns', [1_700, 600, 1_700, 600, 1_700]],
    ['a cycle of half a second between slow ones', [1_000, 1_700, 500, 1_700]],
  ])('%s: each target is looked at again within 5 s', (_, reads) => {
    expect(longestGap(reads)).toBeLessThanOrEqual(4_800); // and a ring
  });
});
