import * as liveness from '../../../workflows/planning/liveness';

/** Times after which something counts as stalled, and what each must leave room for. */

const SECOND = 1_000;
const of = (name: keyof typeof liveness): number => liveness[name];

test.each<[keyof typeof liveness, seconds: number]>([
  ['UNANSWERED_MS', 30],
  ['OVERDUE_CALL_MS', 45],
  ['STALLED_MS', 60],
  ['POLL_MS', 60],
  ['POLL_HANGS_MS', 75],
  ['POLL_BROKEN_MS', 180],
  ['POLL_AWAY_MS', 10],
  ['POLL_RETRY_MS', 15],
  ['POLL_REFUSED_MS', 30],
  ['POLL_NEXT_MS', 5],
  ['TEMPORAL_SILENT_MS', 30],
  ['DATABASE_SILENT_MS', 10],
])('%s is %d s', (name, seconds) => expect(of(name)).toBe(seconds * SECOND));

test('a poll hangs only after it should have returned, and is broken only after it hangs', () => {
  expect(liveness.POLL_HANGS_MS).toBeGreaterThan(liveness.POLL_MS);
  expect(liveness.POLL_BROKEN_MS).toBeGreaterThan(liveness.POLL_HANGS_MS);
  expect(liveness.POLL_RETRY_MS).toBeGreaterThan(liveness.POLL_AWAY_MS);
});
