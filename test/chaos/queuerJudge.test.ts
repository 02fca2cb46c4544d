import type { Evidence, LaneCall, LaneVerdict } from './queuer/checker';
import { judge } from './queuer/checker';
import { NOTHING } from './queuer/nothing';
import { planKills } from './plan';
import { LANE_POINTS } from './points';

/** What judges the queuer under kills finds what it is for; `queuer.test.ts` has the kills. */

const stored = (id: string, status = 10) => ({ id, service: id.slice(0, id.lastIndexOf('-')), status });
const applied = (id: string, key: string, service = id.slice(0, id.lastIndexOf('-'))) => ({ service, key, ids: [id] });
const call = (key: string, attempt = 1, beside = 0) => ({
  service: 'a',
  key,
  attempt,
  beside,
  worker: 0,
  fence: null,
  refused: false,
});
/** Under an epoch of the one partition. */
const fenced = (key: string, epoch: number, more: Partial<LaneCall> = {}): LaneCall => ({
  ...call(key),
  fence: { id: 'p', epoch },
  ...more,
});

/**
 * Two batches of one lane, the second sent twice, one of another; a frozen mark that was not used:
 * all as it should be.
 */
const sound = (): Evidence => ({
  acked: ['a-0', 'a-1', 'b-0'],
  stored: [stored('a-0'), stored('a-1'), stored('b-0')],
  applied: [applied('a-0', 'm-1'), applied('b-0', 'm-3'), applied('a-1', 'm-2')],
  calls: [call('m-1'), call('m-3'), call('m-2'), call('m-2', 3)],
  frozen: [{ batch: 2, attempt: 2 }],
});

test('finds nothing where nothing is wrong', () => {
  expect(judge(sound())).toMatchObject({
    ...NOTHING,
    batches: 3,
    committed: 3,
    calls: 4,
    distinctCalls: 3,
    frozen: 1,
    findings: [],
  });
});

test('a call under an old epoch that was refused is none; the next epoch may be another worker [B11]', () => {
  const calls = [
    fenced('m-1', 1),
    fenced('m-2', 2, { worker: 1 }),
    fenced('m-1', 1, { refused: true }),
    fenced('m-3', 2, { worker: 1 }),
  ];
  expect(judge({ ...sound(), calls })).toMatchObject({ ...NOTHING, refusedCalls: 1, findings: [] });
});

/** A checker that finds nothing proves nothing: each fault is planted once, in a forged record. */
const planted: [fault: string, plant: (evidence: Evidence) => Partial<Evidence>, found: Partial<LaneVerdict>][] = [
  ['an order turned round', (e) => ({ applied: [...e.applied].reverse() }), { inversions: 1 }],
  ['an accepted batch that the store does not have', (e) => ({ acked: [...e.acked, 'b-1'] }), { lost: 1 }],
  ['a committed batch that was never applied', (e) => ({ applied: e.applied.slice(0, 2) }), { lost: 1 }],
  ['a batch applied twice', (e) => ({ applied: [...e.applied, applied('a-1', 'm-9')] }), { doubleEffects: 1 }],
  [
    'a batch applied twice, before a later one',
    (e) => ({ applied: [e.applied[0]!, ...e.applied] }),
    { doubleEffects: 1 },
  ],
  [
    'a batch applied to another service',
    (e) => ({ applied: [e.applied[0]!, applied('b-0', 'm-3', 'c'), e.applied[2]!] }),
    { strangers: 1 },
  ],
  ['a batch that nobody submitted', (e) => ({ applied: [...e.applied, applied('b-7', 'm-7')] }), { strangers: 1 }],
  ['a batch left in its lane', (e) => ({ stored: [...e.stored, stored('b-1', 4)] }), { stuck: 1 }],
  ['a batch that failed', (e) => ({ stored: [...e.stored, stored('b-1', 11)] }), { failed: 1 }],
  ['two of a serial lane sent beside each other', (e) => ({ calls: [...e.calls, call('m-4', 1, 1)] }), { overlaps: 1 }],
  ['a call of somebody taken for dead', (e) => ({ calls: [...e.calls, call('m-2', 1)] }), { staleCalls: 1 }],
  [
    'a call under an old epoch that was answered',
    (e) => ({ calls: [...e.calls, fenced('m-4', 2), fenced('m-5', 1)] }),
    { staleAccepted: 1 },
  ],
  [
    'two workers under one epoch',
    (e) => ({ calls: [...e.calls, fenced('m-4', 2), fenced('m-5', 2, { worker: 1 })] }),
    { sharedEpochs: 1 },
  ],
  [
    'a frozen one that sends when it thaws',
    (e) => ({ calls: [...e.calls.slice(0, 3), call('m-2', 2), call('m-2', 3)] }),
    { thawedSends: 1 },
  ],
];

test.each(planted)('catches %s', (_, plant, found) => {
  const verdict = judge({ ...sound(), ...plant(sound()) });
  expect(verdict).toMatchObject({ ...NOTHING, ...found });
  expect(verdict.findings.length).toBeGreaterThan(0);
});

test('the schedule of kills gives every point its share', () => {
  const plan = planKills(100, 7, LANE_POINTS);
  expect(plan).toEqual(planKills(100, 7, LANE_POINTS));
  for (const point of LANE_POINTS) expect(plan.filter((kill) => kill.point === point).length).toBeGreaterThanOrEqual(5);
});
