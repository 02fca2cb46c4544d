import { countsAttempt, decideSettlement } from '../../workflows/planning/calls/settlement';
import type { CallOutcome, Deviant, Settlement, SettlementContext } from '../../workflows/planning/calls/plans';
import { buildContext } from './builders';

const finish = (state: 'succeeded' | 'failed', more: object = {}): Settlement => ({
  kind: 'finish',
  state,
  ends: [],
  unknown: 'park',
  ...more,
});
const results = (...deviants: Deviant[]): CallOutcome => ({ kind: 'results', deviants });
const missing: Deviant = { index: 1, status: 'unknown', error: 'no result' };
const later: CallOutcome = { kind: 'later', scope: 'target', error: '429', retryAfterMs: 7_000 };
const lost: CallOutcome = { kind: 'unknown', error: 'timeout' };
const resend: Settlement = { kind: 'resend', inMs: 4_000, error: 'timeout' };
const park: Settlement = { kind: 'park', error: 'timeout' };
const oneUnknown = (unknown: string) =>
  finish('succeeded', { ends: [{ index: 1, to: 'unknown', error: 'no result' }], unknown });

const COLUMNS: Record<string, Partial<SettlementContext>> = {
  'none, park': {},
  'none, resend': { onUnknown: 'resend' },
  'by batch': { idempotency: { by: 'batch' } },
  'by task': { idempotency: { by: 'task' } },
};
const same = (settlement: Settlement) => Object.values(COLUMNS).map(() => settlement);

/**
 * The table of outcomes: row, outcome, what each column comes to, attempts it costs. m = 3
 * members, 2 attempts before.
 */
const ROWS: [string, CallOutcome, Settlement[], number][] = [
  ['200, all ok', results(), same(finish('succeeded')), 1],
  [
    '200, one failed',
    results({ index: 2, status: 'failed', error: 'bad zip' }),
    same(finish('succeeded', { ends: [{ index: 2, to: 'failed', error: 'bad zip' }] })),
    1,
  ],
  [
    '200, one retry',
    results({ index: 0, status: 'retry', error: 'busy' }),
    same(finish('succeeded', { ends: [{ index: 0, to: 'retry', inMs: 4_000, error: 'busy' }] })),
    1,
  ],
  [
    '200, one result missing',
    results(missing),
    [oneUnknown('park'), oneUnknown('resend'), oneUnknown('park'), oneUnknown('resend')],
    1,
  ],
  ['200, stranger, duplicate, not JSON, truncated, too large', lost, [park, resend, resend, resend], 1],
  ['400 / 422, m > 1', { kind: 'rejected', error: '400' }, same({ kind: 'split', at: 2, error: '400' }), 1],
  [
    '403 of a target',
    { kind: 'halted', error: '403', scope: 'target' },
    same({ kind: 'halt', reason: '403', scope: 'target' }),
    0,
  ],
  ['401 / 403 / 404', { kind: 'halted', error: '401' }, same({ kind: 'halt', reason: '401' }), 0],
  ['429 / 503', later, same({ kind: 'wait', inMs: 7_000, hold: 'target', inPlace: false, error: '429' }), 0],
  [
    'refused before the request was written',
    { kind: 'later', scope: 'handler', error: 'ECONNREFUSED' },
    same({ kind: 'wait', inMs: 50, hold: 'handler', inPlace: true, error: 'ECONNREFUSED' }),
    0,
  ],
  ['timeout, reset or crash after the request was written', lost, [park, resend, resend, resend], 1],
];

describe('decideSettlement: the table of handlers.md (H1-H5, H9)', () => {
  const cells = ROWS.flatMap(([row, outcome, settlements, attempts]) =>
    Object.entries(COLUMNS).map(([column, context], at) => ({
      row,
      column,
      outcome,
      context,
      settlement: settlements[at]!,
      attempts,
    })),
  );
  test.each(cells)('$row | $column', ({ outcome, context, settlement, attempts }) => {
    const decided = decideSettlement(outcome, buildContext({ attempts: [2, 2, 2], ...context }));
    expect(decided).toEqual(settlement);
    expect(countsAttempt(decided.kind) ? 1 : 0).toBe(attempts);
  });

  test.each(Object.entries(COLUMNS))('400, m = 1 | %s', (_, context) => {
    const decided = decideSettlement({ kind: 'rejected', error: '400' }, buildContext({ attempts: [2], ...context }));
    expect(decided).toEqual(finish('failed', { error: '400' }));
    expect(countsAttempt(decided.kind)).toBe(true);
  });

  test('accepted stays in progress and costs nothing yet [H7]', () => {
    const decided = decideSettlement({ kind: 'accepted', reference: 'b-1' }, buildContext());
    expect(decided).toEqual({ kind: 'accept', reference: 'b-1' });
    expect(countsAttempt(decided.kind)).toBe(false);
  });
});

describe('decideSettlement: results (G2, H9)', () => {
  const retry = (attempts: number[], deviant: Partial<Deviant> = {}) =>
    decideSettlement(results({ index: 0, status: 'retry', error: 'busy', ...deviant }), buildContext({ attempts }));

  test('a retry waits by its own attempts, or as long as the downstream asks if that is longer [G2]', () => {
    expect(retry([0, 3])).toMatchObject({ ends: [{ to: 'retry', inMs: 1_000 }] });
    expect(retry([3, 0])).toMatchObject({ ends: [{ to: 'retry', inMs: 8_000 }] });
    expect(retry([3, 0], { retryAfterMs: 9_000 })).toMatchObject({ ends: [{ to: 'retry', inMs: 9_000 }] });
    expect(retry([3, 0], { retryAfterMs: 7_000 })).toMatchObject({ ends: [{ to: 'retry', inMs: 8_000 }] });
    const atOnce = buildContext({ delayed: { baseMs: 0, maxMs: 0 } });
    expect(decideSettlement(results({ index: 0, status: 'retry' }), atOnce)).toMatchObject({ ends: [{ inMs: 0 }] });
  });

  test('the last attempt ends dead, for that task alone [H9]', () => {
    expect(retry([4, 0])).toEqual(finish('succeeded', { ends: [{ index: 0, to: 'dead', error: 'busy' }] }));
  });

  test('the batch is failed where no member shares its end', () => {
    const failed: Deviant[] = [0, 1].map((index) => ({ index, status: 'failed' }));
    expect(decideSettlement(results(...failed), buildContext({ attempts: [0, 0] }))).toMatchObject({ state: 'failed' });
    expect(decideSettlement(results(...failed), buildContext({ attempts: [0, 0, 0] }))).toMatchObject({
      state: 'succeeded',
    });
  });

  test('a deviant without an error still says what happened', () => {
    for (const status of ['failed', 'retry', 'unknown'] as const) {
      const { ends } = decideSettlement(results({ index: 0, status }), buildContext()) as { ends: { error: string }[] };
      expect(ends[0]!.error).toMatch(/downstream/);
    }
  });

  test.each([[[3]], [[-1]], [[0.5]], [[1, 1]]])('deviants %j are no members: our fault, thrown', (indexes) => {
    const deviants = indexes.map((index): Deviant => ({ index, status: 'failed' }));
    expect(() => decideSettlement(results(...deviants), buildContext())).toThrow(
      /expected each index once, from 0 to 2/,
    );
  });
});

describe('decideSettlement: members of unknown outcome (H3)', () => {
  test.each<[string, Partial<SettlementContext>, string]>([
    ['reconcile is there', { canReconcile: true }, 'reconcile'],
    ['reconcile comes before resend', { canReconcile: true, onUnknown: 'resend' }, 'reconcile'],
    [
      'by batch: the key covers the whole batch only',
      { idempotency: { by: 'batch' }, canReconcile: true },
      'reconcile',
    ],
    ['by task: the key is enough', { idempotency: { by: 'task' }, canReconcile: true }, 'resend'],
    ['by task, at the end of the window', { idempotency: { by: 'task', windowMs: 500 }, ageMs: 500 }, 'resend'],
    ['by task, past the window', { idempotency: { by: 'task', windowMs: 500 }, ageMs: 501 }, 'park'],
    ['by task, the last attempt', { idempotency: { by: 'task' }, attempts: [0, 3, 0] }, 'resend'],
    ['by task, no attempt left', { idempotency: { by: 'task' }, attempts: [0, 4, 0] }, 'park'],
    [
      'by task, no attempt left but reconcile',
      { idempotency: { by: 'task' }, attempts: [0, 4, 0], canReconcile: true },
      'reconcile',
    ],
    ['by task, no attempt left for another member', { idempotency: { by: 'task' }, attempts: [4, 0, 4] }, 'resend'],
    ['resend, no attempt left', { onUnknown: 'resend', attempts: [0, 4, 0] }, 'park'],
  ])('%s', (_, context, unknown) => {
    expect(decideSettlement(results(missing), buildContext(context))).toEqual(oneUnknown(unknown));
  });
});

test.each<[string, Partial<SettlementContext>]>([
  ['by task', { idempotency: { by: 'task' } }],
  ['resend', { onUnknown: 'resend' }],
])(
  '%s: an unknown member without an attempt left is parked, the others are sent again all the same [H3 H9]',
  (_, how) => {
    const context = buildContext({ ...how, attempts: [0, 4, 0] });
    const gone = (index: number): Deviant => ({ index, status: 'unknown', error: 'no result' });
    const end = (index: number, more = {}) => ({ index, to: 'unknown', error: 'no result', ...more });
    expect(decideSettlement(results(gone(1), gone(2)), context)).toEqual(
      finish('succeeded', { ends: [end(1, { parked: true }), end(2)], unknown: 'resend' }),
    );
    expect(decideSettlement(results({ index: 1, status: 'failed', error: 'no' }, gone(2)), context)).toEqual(
      finish('succeeded', { ends: [{ index: 1, to: 'failed', error: 'no' }, end(2)], unknown: 'resend' }),
    );
    const whole = (index: number, more = {}) => ({ index, to: 'unknown', error: 'timeout', ...more });
    expect(decideSettlement(lost, context)).toEqual(
      finish('failed', {
        ends: [whole(0), whole(1, { parked: true }), whole(2)],
        unknown: 'resend',
        unknownInMs: expect.any(Number),
      }),
    );
  },
);

describe('decideSettlement: a batch of unknown outcome (H3)', () => {
  const decide = (context: Partial<SettlementContext>) => decideSettlement(lost, buildContext(context)).kind;

  test('the keys must still hold when they are used again, after the backoff', () => {
    const idempotency = { by: 'batch', windowMs: 60_000 } as const;
    expect(decide({ idempotency, ageMs: 59_000 })).toBe('resend');
    expect(decide({ idempotency, ageMs: 59_001 })).toBe('park');
    expect(decide({ idempotency, ageMs: 59_001, onUnknown: 'resend' })).toBe('resend');
  });

  test('by batch the most used-up member decides: under its key the batch goes again whole or not at all', () => {
    const idempotency = { by: 'batch' } as const;
    expect(decide({ idempotency, attempts: [0, 3] })).toBe('resend');
    expect(decide({ idempotency, attempts: [0, 4] })).toBe('park');
    expect(decide({ idempotency, onUnknown: 'resend', attempts: [4, 0] })).toBe('park');
    expect(decide({ onUnknown: 'resend', attempts: [4, 4] })).toBe('park');
  });

  test('a batch of 50,000 settles', () => {
    expect(decide({ attempts: Array<number>(50_000).fill(0), onUnknown: 'resend' })).toBe('resend');
  });
});

describe('decideSettlement: back pressure (H5, A16)', () => {
  const wait = (refusals: number, outcome: Partial<typeof later> = {}, random = 0.999_999) =>
    decideSettlement(
      { kind: 'later', scope: 'target', error: '503', ...outcome },
      buildContext({ refusals, random: () => random }),
    );

  test('few short waits in place, then durable ones, exponential with full jitter', () => {
    const waits = [0, 1, 2, 3, 4, 99].map((refusals) => wait(refusals));
    expect(waits.map((each) => each.kind === 'wait' && [each.inMs, each.inPlace])).toEqual([
      [100, true],
      [200, true],
      [1_000, false],
      [2_000, false],
      [4_000, false],
      [60_000, false],
    ]);
    expect(wait(3, {}, 0.25)).toMatchObject({ inMs: 500 });
    expect(wait(3, { retryAfterMs: 1 })).toMatchObject({ inMs: 1 });
    expect(wait(3, { retryAfterMs: 0 })).toMatchObject({ inMs: 2_000 });
    expect(wait(3, {}, 0)).toMatchObject({ inMs: 1 });
  });

  test('Retry-After is taken as it is: in place if short and repeats are left', () => {
    expect(wait(0, { retryAfterMs: 1_999 })).toMatchObject({ inMs: 1_999, inPlace: true });
    expect(wait(0, { retryAfterMs: 2_000 })).toMatchObject({ inMs: 2_000, inPlace: false });
    expect(wait(2, { retryAfterMs: 1_999 })).toMatchObject({ inMs: 1_999, inPlace: false });
  });

  test('Retry-After 0, or a date in the past, says nothing: no hot loop', () => {
    expect(wait(2, { retryAfterMs: 0 })).toMatchObject({ inMs: 1_000 });
    expect(wait(2, { retryAfterMs: -5 })).toMatchObject({ inMs: 1_000 });
  });
});

describe('decideSettlement: refused for the content (H4, G3)', () => {
  const decide = (context: Partial<SettlementContext>) =>
    decideSettlement({ kind: 'rejected', error: '422' }, buildContext(context));
  const failed = finish('failed', { error: '422' });
  const halt = { kind: 'halt', reason: 'both halves of the first split were refused: 422' };
  const four = [0, 0, 0, 0];

  test.each<[string, Partial<SettlementContext>, object]>([
    ['no half, several: split', { attempts: four }, { kind: 'split', at: 2, error: '422' }],
    ['no half, odd: the first half is the larger', { attempts: [0, 0, 0] }, { kind: 'split', at: 2, error: '422' }],
    ['bisect off: all failed', { attempts: four, bisect: false }, failed],
    ['no attempt left: split all the same', { attempts: [4, 4] }, { kind: 'split', at: 1, error: '422' }],
    [
      'a half, other half unknown yet: wait',
      { attempts: four, sibling: 'pending' },
      { kind: 'await-sibling', error: '422' },
    ],
    ['a half, other half refused: halt', { attempts: four, sibling: 'refused' }, halt],
    ['a half, other half not: split', { attempts: four, sibling: 'other' }, { kind: 'split', at: 2, error: '422' }],
    [
      'a half, alone, other half unknown yet: wait',
      { attempts: [0], sibling: 'pending' },
      { kind: 'await-sibling', error: '422' },
    ],
    [
      'a half, alone, other half refused: halt, two of two are no poison task',
      { attempts: [0], sibling: 'refused' },
      halt,
    ],
    ['a half, alone, other half not: the poison task', { attempts: [0], sibling: 'other' }, failed],
    ['no half, alone: the poison task', { attempts: [0] }, failed],
  ])('%s', (_, context, settlement) => {
    expect(decide(context)).toEqual(settlement);
  });
});

test('a payload that its handler refuses is split off at no attempt, and fails where trying again is vain', () => {
  const of = (attempts: number[], isLasting?: boolean): Settlement =>
    decideSettlement({ kind: 'unreadable', error: 'no', isLasting }, buildContext({ attempts }));
  expect(of([0, 0, 0], true)).toEqual({ kind: 'split', at: 2, error: 'no', counts: false });
  expect(of([0, 0])).toMatchObject({ kind: 'split', at: 1 });
  expect(of([0], true)).toMatchObject({ kind: 'finish', ends: [{ index: 0, to: 'failed', error: 'no' }] });
  expect(of([0])).toMatchObject({ kind: 'finish', ends: [{ index: 0, to: 'retry', error: 'no' }] });
});
