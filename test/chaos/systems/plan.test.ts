import { randomOf } from '../random';
import { FAULT_KINDS, KINDS, planFaults } from './plan';

const first = (n: number, seed: number, only = FAULT_KINDS) => {
  const plan = planFaults(randomOf(seed), only);
  return Array.from({ length: n }, () => plan.next().value);
};
const ROUND = Object.values(KINDS).reduce((sum, { share }) => sum + share, 0);

test('the plan is the seed, whole', () => {
  expect(first(200, 7)).toEqual(first(200, 7));
  expect(first(200, 7)).not.toEqual(first(200, 8));
});

test('each round has every kind as often as its share', () => {
  const kinds = first(2 * ROUND, 3).map(({ kind }) => kind);
  for (const round of [kinds.slice(0, ROUND), kinds.slice(ROUND)])
    for (const kind of FAULT_KINDS) expect(round.filter((one) => one === kind)).toHaveLength(KINDS[kind].share);
});

test('faults last, and strike, as their kind says', () => {
  for (const { kind, forMs, times } of first(2_000, 5)) {
    const of: { forMs: readonly number[]; times?: readonly number[] } = KINDS[kind];
    expect(forMs).toBeGreaterThanOrEqual(of.forMs[0]!);
    expect(forMs).toBeLessThanOrEqual(of.forMs[1]!);
    expect(times).toBeGreaterThanOrEqual(of.times?.[0] ?? 1);
    expect(times).toBeLessThanOrEqual(of.times?.[1] ?? 1);
  }
});

test('only what is chosen happens', () => {
  expect(new Set(first(50, 1, ['kill', 'snapshot']).map(({ kind }) => kind))).toEqual(new Set(['kill', 'snapshot']));
});
