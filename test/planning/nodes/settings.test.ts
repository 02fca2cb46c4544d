import type { TimeSettings } from '../../../workflows/planning/nodes/settings';
import { settingsProblems } from '../../../workflows/planning/nodes/settings';

/** B4: time settings and their relations. */

const good: TimeSettings = {
  leaseMs: 15_000,
  maxLeaseMs: 60_000,
  shutdownLimitMs: 10_000,
  minimumHoldMs: 12_000,
  renewEveryMs: 5_000,
  restartGraceMs: 15_000,
  roundEveryMs: 3_000,
};

test('settings that fit have no problems, also at their limits [B4]', () => {
  expect(settingsProblems(good)).toEqual([]);
  expect(settingsProblems({ ...good, roundEveryMs: undefined })).toEqual([]);
  const limits = {
    maxLeaseMs: 30_000,
    shutdownLimitMs: 14_999,
    minimumHoldMs: 14_999,
    renewEveryMs: 5_000,
    restartGraceMs: 30_000,
    roundEveryMs: 3_750,
  };
  expect(settingsProblems({ ...good, ...limits })).toEqual([]);
  expect(settingsProblems({ ...good, minimumHoldMs: 0, restartGraceMs: 0 })).toEqual([]);
});

test.each<[Partial<TimeSettings>, string]>([
  [
    { maxLeaseMs: 29_999 },
    'maxLeaseMs: expected at least 2 times leaseMs (15000), got 29999; raise it or shorten leaseMs',
  ],
  [
    { renewEveryMs: 5_001 },
    'renewEveryMs: expected at most a third of leaseMs (15000), so that two renewals may fail, got 5001; renew more often or lengthen leaseMs',
  ],
  [
    { shutdownLimitMs: 15_000 },
    'shutdownLimitMs: expected less than leaseMs (15000), got 15000; or the lease ends before the partition is given up',
  ],
  [
    { minimumHoldMs: 15_000 },
    'minimumHoldMs: expected less than leaseMs (15000), got 15000; or a node that joins stays empty for longer than a lease',
  ],
  [
    { restartGraceMs: 60_001 },
    'restartGraceMs: expected at most maxLeaseMs (60000), got 60001; no node serves what a missing node had; drain a node that is away for longer',
  ],
  [
    { roundEveryMs: 3_751 },
    'roundEveryMs: expected at most a quarter of leaseMs (15000), since nodes are even after four rounds, got 3751; look more often or lengthen leaseMs',
  ],
])('%j is refused, by name, with what was expected and what came [B4]', (change, message) => {
  expect(settingsProblems({ ...good, ...change })).toEqual([message]);
});

test('each setting must be a whole number of milliseconds; all that are not are named [B4]', () => {
  for (const name of Object.keys(good))
    for (const wrong of [-1, 0.5, NaN, Infinity])
      expect(settingsProblems({ ...good, [name]: wrong })).toEqual([
        expect.stringContaining(`${name}: expected a whole number`),
      ]);
  expect(settingsProblems({ ...good, leaseMs: 0, renewEveryMs: 0 })).toEqual([
    'leaseMs: expected a whole number of milliseconds of at least 1, got 0',
    'renewEveryMs: expected a whole number of milliseconds of at least 1, got 0',
  ]);
});

test('several wrong relations are all named [B4]', () => {
  const names = settingsProblems({
    ...good,
    leaseMs: 40_000,
    maxLeaseMs: 50_000,
    renewEveryMs: 20_000,
    shutdownLimitMs: 50_000,
  }).map((problem) => problem.split(':')[0]);
  expect(names).toEqual(['maxLeaseMs', 'renewEveryMs', 'shutdownLimitMs']);
});
