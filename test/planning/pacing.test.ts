import fc from 'fast-check';
import { takePaced } from '../../workflows/planning/grouping/pacing';
import type { Pace } from '../../workflows/planning/calls/plans';

const NOW_MS = 1_760_000_000_000;
const pace = (limit: number, nextAtMs = 0, perMs = 1_000): Pace => ({ limit, perMs, nextAtMs });

describe('takePaced (G1)', () => {
  test('the first call starts at once, the next ones evenly spread: no burst after idling', () => {
    const first = takePaced(pace(4), 1, NOW_MS, 0)!;
    expect(first).toEqual({ startAtMs: NOW_MS, pace: pace(4, NOW_MS + 250) });
    expect(takePaced(first.pace, 1, NOW_MS, 0)).toBeNull();
    expect(takePaced(first.pace, 1, NOW_MS + 249, 0)).toBeNull();
    expect(takePaced(first.pace, 1, NOW_MS + 250, 0)!.startAtMs).toBe(NOW_MS + 250);
    expect(takePaced(first.pace, 1, NOW_MS + 9_000, 0)!.pace.nextAtMs).toBe(NOW_MS + 9_250);
  });

  test('calls are claimed ahead up to the horizon, with their start time', () => {
    const starts: number[] = [];
    let taken = takePaced(pace(4), 1, NOW_MS, 600);
    while (taken !== null && starts.length < 10) {
      starts.push(taken.startAtMs - NOW_MS);
      taken = takePaced(taken.pace, 1, NOW_MS, 600);
    }
    expect(starts).toEqual([0, 250, 500]);
    expect(takePaced(pace(4, NOW_MS + 600), 1, NOW_MS, 600)!.startAtMs).toBe(NOW_MS + 600);
    expect(takePaced(pace(4, NOW_MS + 600.001), 1, NOW_MS, 600)).toBeNull();
  });

  test('a call of many units holds the next one back as long', () => {
    expect(takePaced(pace(100), 250, NOW_MS, 0)!.pace.nextAtMs).toBe(NOW_MS + 2_500);
  });

  test('3 calls a second: the step is rounded up, so the fourth call is not in the same second', () => {
    let current = pace(3);
    const starts = [0, 0, 0, 0].map(() => {
      const taken = takePaced(current, 1, NOW_MS, 5_000)!;
      current = taken.pace;
      return taken.startAtMs - NOW_MS;
    });
    expect(starts[2]).toBeLessThan(1_000);
    expect(starts[3]).toBeGreaterThanOrEqual(1_000);
    expect(starts[3]).toBeLessThan(1_000.01);
  });

  /**
   * Starts of a run: the clock moves by the gaps, and each call is claimed within its horizon or
   * left out.
   */
  const run = (start: Pace, calls: { gapUs: number; cost: number; horizonMs: number }[]) => {
    let current = start;
    let nowMs = NOW_MS;
    const taken: { startUs: number; cost: number }[] = [];
    for (const { gapUs, cost, horizonMs } of calls) {
      nowMs += gapUs / 1_000;
      const call = takePaced(current, cost, nowMs, horizonMs);
      if (call === null) continue;
      current = call.pace;
      taken.push({ startUs: Math.round(call.startAtMs * 1_000), cost });
    }
    return taken;
  };
  const anyCalls = (maxCost: number) =>
    fc.array(
      fc.record({ gapUs: fc.nat(400_000), cost: fc.integer({ min: 1, max: maxCost }), horizonMs: fc.nat(3_000) }),
      {
        maxLength: 120,
      },
    );
  const anyLimit = fc.integer({ min: 1, max: 5_000 });
  const anyPeriod = fc.constantFrom(1, 100, 1_000, 60_000);

  test("unit 'calls': exactly limit in any half-open window of perMs", () => {
    fc.assert(
      fc.property(anyLimit, anyPeriod, anyCalls(1), (limit, perMs, calls) => {
        const taken = run(pace(limit, 0, perMs), calls);
        taken.forEach(({ startUs }, at) => {
          const windowEnds = taken[at + limit]?.startUs ?? Infinity;
          expect(windowEnds - startUs).toBeGreaterThanOrEqual(perMs * 1_000);
        });
      }),
    );
  });

  test('units: less than limit before the last call of any window', () => {
    fc.assert(
      fc.property(anyLimit, anyPeriod, anyCalls(50), (limit, perMs, calls) => {
        const taken = run(pace(limit, 0, perMs), calls);
        for (let from = 0; from < taken.length; from++) {
          const inside = taken.filter(
            ({ startUs }, at) => at >= from && startUs < taken[from]!.startUs + perMs * 1_000,
          );
          const units = inside.slice(0, -1).reduce((sum, { cost }) => sum + cost, 0);
          expect(units).toBeLessThan(limit);
        }
      }),
    );
  });

  test('starts never run backwards, and are neither before now nor past the horizon', () => {
    fc.assert(
      fc.property(anyLimit, fc.nat(2_000), fc.nat(2_000), (limit, aheadMs, horizonMs) => {
        const taken = takePaced(pace(limit, NOW_MS + aheadMs), 1, NOW_MS, horizonMs);
        if (aheadMs > horizonMs) expect(taken).toBeNull();
        else expect(taken!.startAtMs).toBe(NOW_MS + aheadMs);
      }),
    );
  });

  test('the rate is reached: a backlog of 10,000 calls at 3,000 a second takes 3.34 s, not more', () => {
    const calls = Array.from({ length: 10_000 }, () => ({ gapUs: 0, cost: 1, horizonMs: 60_000 }));
    const taken = run(pace(3_000), calls);
    expect(taken).toHaveLength(10_000);
    expect(taken.at(-1)!.startUs - taken[0]!.startUs).toBeLessThanOrEqual(3_340_000);
  });
});
