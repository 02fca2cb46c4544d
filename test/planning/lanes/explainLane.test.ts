import { explainLane, type LaneFacts } from '../../../workflows/planning/lanes/explainLane';
import { formatBatches, formatKey, formatPlace } from '../../../workflows/planning/lanes/format';
import type { Lane } from '../../../workflows/planning/lanes/types';
import { buildBatch, buildLane } from './builders';

const open = [
  buildBatch({ id: 81, status: 'pending', reads: ['price'] }),
  buildBatch({ id: 82, writes: ['size'] }),
  buildBatch({ id: 83, writes: ['price'] }),
];
const facts = (changes: Partial<LaneFacts> = {}, lane: Partial<Lane> = {}): LaneFacts => {
  const built = buildLane({ id: 1, service: 'po-17', open, ...lane });
  const batchId = changes.batchId ?? 83;
  const at = built.open.findIndex(({ id }) => id === batchId);
  return {
    batchId,
    status: built.open[at]?.status ?? 'unsubmitted',
    place: at + 1,
    lane: built,
    ageMs: new Map([[81, 4_000]]),
    queuer: { paused: false, served: true, slots: 8, slotsTaken: 0, lanesBefore: 0 },
    reason: null,
    error: null,
    ...changes,
  };
};
const say = (changes: Partial<LaneFacts> = {}, lane: Partial<Lane> = {}): string =>
  explainLane(facts(changes, lane)).text;

describe('explain of a batch in a lane', () => {
  test('explain uses the words of the demand [C12]', () => {
    expect(explainLane(facts())).toEqual({
      text: 'third in lane po-17, waits for commit of batch 81 (4 s), parallel would conflict on key price.',
      waitsFor: 'commit',
      inMs: null,
    });
    expect(say({ batchId: 82 })).toBe(
      'second in lane po-17, waits for commit of batch 81 (4 s), parallel would let it go now.',
    );
  });

  test('in parallel it names the key; what is blocked by one that waits, that one [C12 C25]', () => {
    expect(say({}, { approach: 'parallel' })).toBe(
      'third in lane po-17, waits for commit of batch 81 (4 s), conflicts on key price.',
    );
    const undeclared = [...open.slice(0, 2), buildBatch({ id: 83 })];
    expect(say({}, { approach: 'parallel', open: undeclared })).toMatch(/conflicts on an undeclared set\.$/);
    const waits = [buildBatch({ id: 81, waitsFor: [7], writes: ['price'] }), ...open.slice(1)];
    expect(explainLane(facts({}, { approach: 'parallel', open: waits }))).toMatchObject({
      text: 'third in lane po-17, waits for its turn behind batch 81 (4 s), conflicts on key price.',
      waitsFor: 'conflict',
    });
  });

  test('what depends on keys that were not read is not claimed [C12]', () => {
    const cut = [...open.slice(0, 2), buildBatch({ id: 83, keysUnread: true })];
    expect(say({}, { open: cut })).toBe('third in lane po-17, waits for commit of batch 81 (4 s).');
    const behind = { text: 'third in lane po-17, waits behind batch 81 and those after it.', waitsFor: 'order' };
    expect(explainLane(facts({}, { approach: 'parallel', open: cut }))).toMatchObject(behind);
    const before = [open[0]!, buildBatch({ id: 82, keysUnread: true }), buildBatch({ id: 83, writes: ['size'] })];
    expect(explainLane(facts({}, { approach: 'parallel', open: before }))).toMatchObject(behind);
    const put = [buildBatch({ id: 81, writes: ['a'] }), buildBatch({ id: 82, status: 'pending', keysUnread: true })];
    expect(explainLane(facts({ batchId: 81 }, { approach: 'parallel', open: put }))).toMatchObject({
      text: 'first in lane po-17, may wait for batches after it, which are in flight.',
      waitsFor: 'order',
    });
    // It waits for one whose keys are known, whatever the others have.
    const known = [...before.slice(0, 2), open[2]!];
    expect(say({}, { approach: 'parallel', open: known })).toMatch(
      /commit of batch 81 \(4 s\), conflicts on key price/,
    );
  });

  const head = (batch: Partial<Lane['open'][number]>): Partial<Lane> => ({
    open: [buildBatch({ id: 81, ...batch }), ...open.slice(1)],
  });
  const rows: [string, Partial<LaneFacts>, Partial<Lane>, string, string | null][] = [
    ['paused lane', { reason: 'month end' }, { paused: true }, 'the lane is paused: month end; resume it', 'pause'],
    ['all paused', { queuer: { ...facts().queuer, paused: true } }, {}, 'the queuer is paused', 'pause'],
    [
      'halted',
      { reason: 'unknown: no look-up' },
      { haltedBy: 80 },
      'the lane is halted by batch 80: unknown: no look-up; skip or fix that batch',
      'halt',
    ],
    ['hold', {}, { holdInMs: 3_000 }, 'the downstream asked this service to wait another 3 s', 'back-pressure'],
    [
      'full',
      {},
      { saturated: true, pending: 21, pendingLimit: { stopAt: 30, resumeBelow: 15 } },
      '21 batches of the service are pending; the lane continues below 15 (limit 30)',
      'back-pressure',
    ],
    ['in flight', { batchId: 81 }, head({ status: 'submitted' }), 'is with a submitter for 4 s', 'call'],
    ['pending', { batchId: 81 }, {}, 'was accepted and is pending for 4 s', 'commit'],
    [
      'asked in time',
      { batchId: 81, question: { pollInMs: 2_000, pollEndsInMs: 60_000 } },
      {},
      'was accepted and is pending for 4 s; the next poll is in 2 s',
      'commit',
    ],
    [
      'being read',
      { batchId: 81, question: { pollInMs: 5_000, pollEndsInMs: 60_000, readAgoMs: 7_000 } },
      {},
      'was accepted and is pending for 4 s; its results are being read: the last came 7 s ago',
      'commit',
    ],
    [
      'not asked',
      { batchId: 81, question: { pollInMs: -31_000, pollEndsInMs: 60_000 } },
      {},
      'was accepted and is pending for 4 s; its next poll was due 31 s ago and is overdue: its monitor does not poll',
      'commit',
    ],
    ['valid', { batchId: 81 }, head({ status: 'valid' }), 'was found valid and waits for its commit for 4 s', 'commit'],
    [
      'delayed',
      { batchId: 81, error: '503' },
      head({ status: 'delayed', notBeforeInMs: 9_000 }),
      'is sent again in 9 s (503)',
      'delay',
    ],
    ['parked', { batchId: 81 }, head({ status: 'parked' }), 'its outcome is unknown; resolve it manually', 'halt'],
    ['dependency', { batchId: 81 }, head({ waitsFor: [7, 9] }), 'depends on batches 7, 9', 'dependency'],
    [
      'failed',
      { batchId: 81 },
      head({ failedOn: 7 }),
      'fails without being sent: batch 7, on which it depends, was not applied',
      null,
    ],
    [
      'unknown before it',
      {},
      head({ status: 'unknown' }),
      'waits until the unknown outcome of batch 81 (4 s) is resolved',
      'resolution',
    ],
    [
      'in flight before it',
      {},
      head({ status: 'submitted', reads: ['x'] }),
      'waits for answer to batch 81 (4 s), parallel would let it go now',
      'call',
    ],
    ['goes', { batchId: 81 }, head({}), 'is ready and is granted next', 'submitter'],
    [
      'no slot',
      { batchId: 81, queuer: { paused: false, served: true, slots: 8, slotsTaken: 8, lanesBefore: 2 } },
      head({}),
      'is ready and is waiting for one of 8 submitters, 2 lanes are due before po-17',
      'submitter',
    ],
    [
      'no worker',
      { batchId: 81, queuer: { ...facts().queuer, served: false } },
      head({}),
      'is ready, but no live worker serves its handler; start one',
      'worker',
    ],
    [
      'behind one that waits itself',
      { batchId: 82 },
      head({ waitsFor: [7] }),
      'waits for its turn behind batch 81 (4 s), parallel would conflict on an undeclared set',
      'order',
    ],
    [
      'a limit of its handler',
      { batchId: 81 },
      { ...head({}), held: true },
      'is ready and is waiting for a limit of its handler: calls in flight or weight in flight',
      'submitter',
    ],
    [
      'a limit of its handler, after back pressure',
      { batchId: 81, reduced: { of: 'its target', calls: 1 } },
      { ...head({}), held: true },
      'is ready and is waiting for a limit of its handler: calls in flight or weight in flight; back pressure left its target 1 call at once, plus one after each success',
      'submitter',
    ],
    [
      'a limit of its handler, less reduced',
      { batchId: 81, reduced: { of: 'its target', calls: 2 } },
      { ...head({}), held: true },
      'is ready and is waiting for a limit of its handler: calls in flight or weight in flight; back pressure left its target 2 calls at once, plus one after each success',
      'submitter',
    ],
    [
      'one lane before it, a submitter left',
      { batchId: 81, queuer: { paused: false, served: true, slots: 8, slotsTaken: 7, lanesBefore: 1 } },
      head({}),
      'is ready and is granted next, 1 lane is due before po-17',
      'submitter',
    ],
    ['hold of 1 ms', {}, { holdInMs: 1 }, 'the downstream asked this service to wait another 1 ms', 'back-pressure'],
    ['hold that is past', { batchId: 81 }, { ...head({}), holdInMs: 0 }, 'is ready and is granted next', 'submitter'],
    [
      'below its limit',
      { batchId: 81 },
      { ...head({}), pendingLimit: { stopAt: 30, resumeBelow: 15 } },
      'is ready and is granted next',
      'submitter',
    ],
    [
      'full, since a limit that is gone',
      { batchId: 81 },
      { ...head({}), saturated: true },
      'is ready and is granted next',
      'submitter',
    ],
    ['moving', { batchId: 81, place: 1 }, { open: [] }, 'it was moving while this was read; explain it again', 'order'],
    [
      'behind one that was found valid, in parallel',
      {},
      { ...head({ status: 'valid', reads: ['price'] }), approach: 'parallel' },
      'waits for commit of batch 81 (4 s), conflicts on key price',
      'commit',
    ],
    [
      'behind one that is sent, for a downstream that keeps the order',
      {},
      { ...head({ status: 'submitted' }), approach: 'unconstrained', kind: 'guaranteed' },
      'waits for answer to batch 81 (4 s)',
      'call',
    ],
    ['behind one that halts', {}, { onInvalid: 'halt' }, 'waits for commit of batch 81 (4 s)', 'commit'],
    ['far behind', { batchId: 999, place: 140 }, {}, 'waits behind batch 81 and those after it', 'order'],
  ];
  test.each(rows)('%s [C12]', (_case, changes, lane, expected, waitsFor) => {
    const explained = explainLane(facts(changes, lane));
    expect(explained.text).toMatch(/^(first|second|third|140th) in lane po-17, /);
    expect(explained.text.replace(/^\S+ in lane po-17, /, '')).toBe(`${expected}.`);
    expect(explained.waitsFor).toBe(waitsFor);
  });

  test('what has ended says how; what is in flight in a paused lane goes on [C12]', () => {
    expect(say({ place: 0, status: 'invalid', error: 'price below 0' })).toBe(
      'refused permanently in lane po-17: price below 0; it is never sent again.',
    );
    expect(say({ place: 0, status: 'committed' })).toBe('committed in lane po-17.');
    expect(say({ place: 0, status: 'failed-dependency', error: 'batch 7 was not applied' })).toBe(
      'failed in lane po-17 without being sent: batch 7 was not applied.',
    );
    expect(say({ batchId: 81 }, { paused: true })).toBe('first in lane po-17, was accepted and is pending for 4 s.');
  });

  test('what was refused alone waits for the one after it; what goes or fails, goes or fails now', () => {
    expect(explainLane(facts({ status: 'refused', error: '422' }))).toEqual({
      text:
        'In lane po-17, refused when sent alone (422); ' +
        'the outcome of the batch after it decides whether it is a poison task.',
      waitsFor: 'resolution',
      inMs: null,
    });
    expect(explainLane(facts({ batchId: 81 }, head({}))).inMs).toBe(0);
    expect(explainLane(facts({ batchId: 81 }, head({ failedOn: 7 }))).inMs).toBe(0);
  });

  test('places are given in words', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(formatPlace).join(' ')).toBe(
      'first second third fourth fifth sixth seventh eighth ninth 10th',
    );
    expect([11, 12, 13, 14, 21, 22, 23, 24, 100, 101, 111, 112, 113].map(formatPlace).join(' ')).toBe(
      '11th 12th 13th 14th 21st 22nd 23rd 24th 100th 101st 111th 112th 113th',
    );
  });

  test('batches by number: one, five, and how many more', () => {
    expect(formatBatches([7])).toBe('batch 7');
    expect(formatBatches([1, 2, 3, 4, 5])).toBe('batches 1, 2, 3, 4, 5');
    expect(formatBatches([1, 2, 3, 4, 5, 6])).toBe('batches 1, 2, 3, 4, 5 and 1 more');
    expect([formatKey('*'), formatKey('price')]).toEqual(['an undeclared set', 'key price']);
  });
});
