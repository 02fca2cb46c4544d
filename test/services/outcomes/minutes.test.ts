import { OutcomeMinutes } from '../../../activities/outcomes/minutes';
import type { CountedEnd } from '../../../workflows/planning/outcomes/kinds';
import { CALL_OUTCOMES, ENDS } from '../../../workflows/planning/outcomes/kinds';
import { FLUSH_REASONS } from '../../../workflows/planning/states';

/** What a process has counted and not yet written, by handler. */

const call = { handler: 'orders', outcome: 'results' as const, ms: 15, tasks: 3, reason: FLUSH_REASONS.linger };
/** How often each name was counted, those that were not left out. */
const named = (names: readonly string[], counts: readonly number[]): Record<string, number> =>
  Object.fromEntries(names.map((name, i) => [name, counts[i]!] as const).filter(([, n]) => n > 0));
const sum = (counts: readonly number[]): number => counts.reduce((all, n) => all + n, 0);

let minutes: OutcomeMinutes;
beforeEach(() => {
  minutes = new OutcomeMinutes();
});

test('calls are counted with their tasks and their time, each handler by itself', () => {
  minutes.called(call);
  minutes.called({ ...call, outcome: 'later', ms: 30, tasks: 2, reason: null });
  minutes.called({ ...call, handler: 'others', tasks: 1 });
  const [orders, others, ...more] = minutes.take();
  expect(more).toEqual([]);
  expect(orders).toMatchObject({ handler: 'orders', tasks: 5, call_ms: 45 });
  expect(others).toMatchObject({ handler: 'others', tasks: 1, call_ms: 15 });
  expect(named(CALL_OUTCOMES, orders!.calls)).toEqual({ results: 1, later: 1 });
  expect([sum(orders!.latency), sum(orders!.sizes), sum(orders!.ends)]).toEqual([2, 2, 0]);
  // A batch was closed once, however often it is called.
  expect([sum(orders!.reasons), orders!.reasons[FLUSH_REASONS.linger]]).toEqual([1, 1]);
});

test('ends alone count no call', () => {
  minutes.ended('orders', new Map<CountedEnd, number>([['succeeded', 2]]));
  minutes.ended(
    'orders',
    new Map<CountedEnd, number>([
      ['succeeded', 1],
      ['dead', 4],
    ]),
  );
  const [orders] = minutes.take();
  expect(named(ENDS, orders!.ends)).toEqual({ succeeded: 3, dead: 4 });
  expect(orders).toMatchObject({ tasks: 0, call_ms: 0 });
  expect([sum(orders!.calls), sum(orders!.latency), sum(orders!.sizes), sum(orders!.reasons)]).toEqual([0, 0, 0, 0]);
});

test('what was taken begins anew, and what could not be written is added to what came since', () => {
  minutes.called(call);
  minutes.ended('orders', new Map<CountedEnd, number>([['succeeded', 3]]));
  const taken = minutes.take();
  expect(minutes.take()).toEqual([]);
  minutes.giveBack(taken);
  expect(minutes.take()).toEqual(taken);
  minutes.called(call);
  minutes.giveBack(taken);
  const [orders] = minutes.take();
  expect(orders).toMatchObject({ tasks: 6, call_ms: 30 });
  expect([sum(orders!.calls), sum(orders!.ends), sum(orders!.latency), sum(orders!.sizes)]).toEqual([2, 3, 2, 2]);
  expect(orders!.reasons[FLUSH_REASONS.linger]).toBe(2);
});
