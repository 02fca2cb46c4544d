import fc from 'fast-check';
import { countsAttempt, decideSettlement } from '../../workflows/planning/calls/settlement';
import type { CallOutcome, Deviant, SettlementContext } from '../../workflows/planning/calls/plans';
import { bisect } from './bisect-simulation';
import { buildContext } from './builders';

const anyContext: fc.Arbitrary<SettlementContext> = fc
  .record({
    attempts: fc.array(fc.nat(6), { minLength: 1, maxLength: 12 }),
    maxAttempts: fc.integer({ min: 1, max: 6 }),
    idempotency: fc.constantFrom('none' as const, { by: 'batch' as const }, { by: 'task' as const, windowMs: 3_000 }),
    onUnknown: fc.constantFrom('park' as const, 'resend' as const),
    canReconcile: fc.boolean(),
    bisect: fc.boolean(),
    sibling: fc.constantFrom(null, 'pending' as const, 'refused' as const, 'other' as const),
    refusals: fc.nat(5),
    ageMs: fc.nat(6_000),
    jitter: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  })
  .map(({ jitter, ...context }) => buildContext({ ...context, random: () => jitter }));

const deviantsOf = (members: number): fc.Arbitrary<Deviant[]> =>
  fc.uniqueArray(
    fc.record({
      index: fc.nat(members - 1),
      status: fc.constantFrom('retry' as const, 'failed' as const, 'unknown' as const),
      retryAfterMs: fc.option(fc.nat(100_000), { nil: undefined }),
    }),
    { selector: (deviant) => deviant.index, maxLength: members },
  );

const withResults = anyContext.chain((context) => fc.tuple(fc.constant(context), deviantsOf(context.attempts.length)));

const anyOtherOutcome: fc.Arbitrary<CallOutcome> = fc.oneof(
  fc.record({ kind: fc.constant('accepted' as const), reference: fc.string() }),
  fc.record({
    kind: fc.constant('later' as const),
    scope: fc.constantFrom('target' as const, 'handler' as const),
    error: fc.string(),
    retryAfterMs: fc.option(fc.nat(100_000), { nil: undefined }),
  }),
  fc.record({ kind: fc.constantFrom('rejected' as const, 'halted' as const, 'unknown' as const), error: fc.string() }),
);

describe('decideSettlement, for any outcome', () => {
  test('every member is accounted for exactly once: by an end of its own or by the batch [A19]', () => {
    fc.assert(
      fc.property(withResults, ([context, deviants]) => {
        const settlement = decideSettlement({ kind: 'results', deviants }, context);
        if (settlement.kind !== 'finish') throw new Error(`expected finish, got ${settlement.kind}`);
        expect(settlement.ends.map(({ index }) => index)).toEqual(deviants.map(({ index }) => index));
        const shared = context.attempts.length - settlement.ends.length;
        expect(settlement.state).toBe(shared > 0 ? 'succeeded' : 'failed');
      }),
    );
  });

  test('nothing is tried again past maxAttempts, and a retry always waits [G2]', () => {
    fc.assert(
      fc.property(withResults, ([context, deviants]) => {
        const settlement = decideSettlement({ kind: 'results', deviants }, context);
        if (settlement.kind !== 'finish') throw new Error(`expected finish, got ${settlement.kind}`);
        for (const end of settlement.ends) {
          const attempts = context.attempts[end.index]! + 1;
          if (end.to === 'retry') expect([attempts < context.maxAttempts, end.inMs > 0]).toEqual([true, true]);
          if (end.to === 'dead') expect(attempts).toBeGreaterThanOrEqual(context.maxAttempts);
          if (end.to === 'unknown' && settlement.unknown === 'resend' && end.parked !== true)
            expect(attempts).toBeLessThan(context.maxAttempts);
        }
      }),
    );
  });

  test('attempts only grow, and only where the call may have had an effect; every wait is at least 1 ms', () => {
    fc.assert(
      fc.property(anyContext, anyOtherOutcome, (context, outcome) => {
        const settlement = decideSettlement(outcome, context);
        const free = ['accept', 'wait', 'await-sibling', 'halt'];
        expect(countsAttempt(settlement.kind)).toBe(!free.includes(settlement.kind));
        if (outcome.kind === 'later') expect(settlement.kind).toBe('wait');
        if (settlement.kind === 'wait' || settlement.kind === 'resend')
          expect(settlement.inMs).toBeGreaterThanOrEqual(1);
        if (settlement.kind === 'resend') expect(Math.max(...context.attempts) + 1).toBeLessThan(context.maxAttempts);
        if (settlement.kind === 'split') {
          expect(settlement.at).toBeGreaterThan(0);
          expect(settlement.at).toBeLessThan(context.attempts.length);
        }
      }),
    );
  });
});

describe('bisect, simulated (G3, H4)', () => {
  const anyOrder = fc.infiniteStream(fc.nat(1_000)).map((stream) => () => stream.next().value as number);

  test('one poison task in m: at most 2 * ceil(log2 m) extra calls, m - 1 succeeded, 1 failed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.nat(), anyOrder, (m, place, pick) => {
        const poison = place % m;
        const end = bisect(m, (task) => task === poison, pick);
        expect(end.calls).toBeLessThanOrEqual(1 + 2 * Math.ceil(Math.log2(m)));
        expect(end.states.filter((state) => state === 'succeeded')).toHaveLength(m - 1);
        expect(end.states[poison]).toBe('failed');
      }),
    );
  });

  test('64 members, one poison: 63 succeeded, 1 failed, 13 calls', () => {
    const end = bisect(
      64,
      (task) => task === 41,
      () => 0,
    );
    expect(end).toMatchObject({ calls: 13, halted: false });
    expect(end.states.filter((state) => state === 'failed')).toHaveLength(1);
  });

  test('any poison in one half of the first split: exactly the poison fails', () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
        fc.boolean(),
        anyOrder,
        (half, first, pick) => {
          const healthy = half.map(() => false);
          const poison = first ? [...half, ...healthy] : [...healthy, ...half];
          const end = bisect(poison.length, (task) => poison[task]!, pick);
          expect(end.halted).toBe(false);
          expect(end.states).toEqual(poison.map((bad) => (bad ? 'failed' : 'succeeded')));
        },
      ),
    );
  });

  test('all refused: halted after exactly 3 calls, every task created again', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 200 }), anyOrder, (m, pick) => {
        const end = bisect(m, () => true, pick);
        expect(end).toMatchObject({ calls: 3, halted: true });
        expect(new Set(end.states)).toEqual(new Set(['created']));
      }),
    );
  });

  test('attempts: one for each call a task was in, none for the calls that halted', () => {
    expect(
      bisect(
        4,
        (task) => task === 3,
        () => 0,
      ).attempts,
    ).toEqual([2, 2, 3, 3]);
    expect(
      bisect(
        4,
        () => true,
        () => 0,
      ).attempts,
    ).toEqual([1, 1, 1, 1]);
  });
});
