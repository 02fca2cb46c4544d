import { explain } from '../../../workflows/planning/explain';
import type { ExplainFacts } from '../../../workflows/planning/explain/facts';
import type { RateLimit } from '../../../workflows/planning/limits/limits';
import type { Parts } from './cases/facts';
import { facts } from './cases/facts';

/** Who set the limit for which a task waits, in place of the one that is defined. */

const by = (who: string, until: string | null = null) => ({ by: who, at: '2030-01-31T11:00:00.000Z', until });
const rate = (limit: number, given: Partial<RateLimit> = {}): RateLimit => ({
  limit,
  perMs: 1_000,
  unit: 'calls',
  scope: 'handler',
  ...given,
});
const RATE = { value: [rate(1), rate(5, { unit: 'items', scope: 'target' })], ...by('ana') };
const due = (parts: Parts): ExplainFacts =>
  facts({ queued: { oldestMs: 300 }, ...parts, leader: { state: 'working', wakeInMs: null, ...parts.leader } });
const full = { busy: true, inFlight: 1 };
const heldByRate = { leader: { heldBy: 'rate', wakeInMs: 700 } };
const shared = (sharedLimitSet: ExplainFacts['handler']['sharedLimitSet']): Parts => ({
  handler: { sharesLimit: 'key-1', sharedLimitSet },
  leader: { heldBy: 'shared rate', wakeInMs: 700 },
});

test.each<[string, Parts, string]>([
  ['nothing set', { target: full }, 'of at most 1; it is sent'],
  [
    'for the handler',
    { target: full, handler: { limitsSet: { 'concurrency.perTarget': { value: 1, ...by('ana') } } } },
    'of at most 1 (set by ana); it is sent',
  ],
  [
    'for the target, until a time',
    {
      target: {
        ...full,
        limitsSet: { 'concurrency.perTarget': { value: 1, ...by('bo', '2030-01-31T12:00:00.000Z') } },
      },
      handler: { limitsSet: { 'concurrency.perTarget': { value: 2, ...by('ana') } } },
    },
    'of at most 1 (set by bo until 2030-01-31T12:00:00.000Z); it is sent',
  ],
  [
    'another limit of the target',
    {
      target: { ...full, limitsSet: { rate: RATE } },
      handler: { limitsSet: { 'concurrency.perTarget': { value: 1, ...by('ana') } } },
    },
    'of at most 1 (set by ana); it is sent',
  ],
  [
    'the weight of a target',
    {
      target: { busy: true, weight: 9 },
      handler: { weightPerTarget: 9, limitsSet: { 'maxWeightInFlight.perTarget': { value: 9, ...by('ana') } } },
    },
    'has 9 of 9 weight in flight (set by ana); it is sent',
  ],
  [
    'the weight of the handler',
    {
      leader: { heldBy: 'weight in flight' },
      handler: { limitsSet: { 'maxWeightInFlight.perHandler': { value: 9, ...by('ana') } } },
    },
    'is at its limit (set by ana); it is sent',
  ],
  [
    'the calls of the handler',
    {
      leader: { heldBy: 'calls in flight' },
      handler: { slotsTaken: 8, limitsSet: { 'concurrency.perHandler': { value: 8, ...by('ana') } } },
    },
    'are at their limit (8 of 8) (set by ana); it is sent',
  ],
  [
    'a rate',
    { ...heldByRate, handler: { limitsSet: { rate: RATE } } },
    'for 700 ms. The rate is 1 call per 1 s, 5 items per 1 s and target, set by ana.',
  ],
  [
    'a rate of weight, which has no singular',
    { ...heldByRate, handler: { limitsSet: { rate: { value: [rate(1, { unit: 'weight' })], ...by('ana') } } } },
    'The rate is 1 weight per 1 s, set by ana.',
  ],
  [
    'no rate',
    { handler: { holdInMs: 700, limitsSet: { rate: { value: [], ...by('ana') } } } },
    'for 700 ms. The rate is none, set by ana.',
  ],
  ['nothing of a shared limit', shared({}), 'limit "key-1", which handler "orders" shares, allows it no call'],
  [
    'one of a shared limit',
    shared({ concurrency: { value: null, ...by('ana') } }),
    'limit "key-1", which handler "orders" shares (calls at once none, set by ana), allows it no call for 700 ms.',
  ],
  [
    'both of a shared limit',
    shared({
      concurrency: { value: 3, ...by('bo') },
      rate: { value: [{ limit: 2, perMs: 1_000, unit: 'calls', scope: 'shared' }], ...by('ana') },
    }),
    'shares (rate 2 calls per 1 s, set by ana; calls at once 3, set by bo), allows it no call for 700 ms.',
  ],
])('%s', (_, parts, text) => {
  expect(explain(due(parts)).text).toContain(text);
});
