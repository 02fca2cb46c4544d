import type { Call, Effect, Evidence } from './checker';
import { judge } from './checker';
import type { Figures } from './report';
import { outcomeOf } from './report';
import type { Kill } from '../plan';
import { planKills } from '../plan';
import type { Point } from '../points';
import { LANE_POINTS, POINTS } from '../points';
import { judge as judgeLanes } from '../queuer/checker';
import { outcomeOf as laneOutcomeOf } from '../queuer/report';
import { countByPoint, haveShares } from '../shares';

const effect = (id: string, batch = '1', attempt = 1): Effect => ({
  id,
  n: 0,
  from: 'a',
  place: 0,
  handler: 'keyed',
  batch,
  attempt,
  key: `k${batch}`,
});
const call = (ids: string[], batch = '1', attempt = 1, worker = 0): Call => ({
  handler: 'keyed',
  batch,
  attempt,
  key: `k${batch}`,
  replayed: attempt > 1,
  ids,
  worker,
  atMs: attempt * 1_000,
});
const succeeded = (id: string) => ({ id, handler: 'keyed', state: 4 });

/** Two tasks in one batch, one parked, the call sent twice: all as it should be. */
const sound = (): Evidence => ({
  acked: ['a-1', 'a-2', 'b-1'],
  tasks: [succeeded('a-1'), succeeded('a-2'), { id: 'b-1', handler: 'plain', state: 3 }],
  batches: [
    { id: '1', members: ['a-1', 'a-2'] },
    { id: '2', members: ['b-1'] },
  ],
  effects: [effect('a-1'), effect('a-2')],
  calls: [call(['a-1', 'a-2']), call(['a-1', 'a-2'], '1', 2, 1)],
  interruptions: [{ worker: 0, atMs: 1_500, forMs: 0 }],
  mayPark: ['plain'],
});
const NOTHING = {
  lost: 0,
  stuck: 0,
  failed: 0,
  duplicatedEffects: 0,
  inTwoBatches: 0,
  disordered: 0,
  needlessRepeats: 0,
};

test('finds nothing where nothing is wrong', () => {
  expect(judge(sound())).toMatchObject({
    ...NOTHING,
    tasks: 3,
    succeeded: 2,
    parked: 1,
    calls: 2,
    distinctCalls: 1,
    findings: [],
  });
});

/** A checker that finds nothing proves nothing: each fault is planted once. */
const planted: [fault: string, plant: (evidence: Evidence) => Partial<Evidence>, found: Partial<typeof NOTHING>][] = [
  ['an accepted id that the store does not have', (e) => ({ acked: [...e.acked, 'a-3'] }), { lost: 1 }],
  ['a success without an effect', (e) => ({ effects: e.effects.slice(1) }), { lost: 1 }],
  ['an effect line too many', (e) => ({ effects: [...e.effects, effect('a-2', '1', 2)] }), { duplicatedEffects: 1 }],
  [
    'an effect of another batch too',
    (e) => ({ effects: [...e.effects, effect('a-1', '9')], calls: [...e.calls, call(['a-1'], '9')] }),
    { duplicatedEffects: 1, inTwoBatches: 1 },
  ],
  ['a task left created', (e) => ({ tasks: [...e.tasks, { id: 'a-4', handler: 'keyed', state: 0 }] }), { stuck: 1 }],
  [
    'a task left in progress',
    (e) => ({ tasks: [...e.tasks, { id: 'a-4', handler: 'plain', state: 2 }] }),
    { stuck: 1 },
  ],
  ['an unknown that may not be parked', () => ({ mayPark: [] }), { stuck: 1 }],
  ['a dead task', (e) => ({ tasks: [...e.tasks, { id: 'a-4', handler: 'keyed', state: 6 }] }), { failed: 1 }],
  ['a member of two batches', (e) => ({ batches: [...e.batches, { id: '3', members: ['a-1'] }] }), { inTwoBatches: 1 }],
  ['members out of order', (e) => ({ calls: [...e.calls, call(['a-9', 'a-8'], '4')] }), { disordered: 1 }],
  [
    'a repeat with other members',
    (e) => ({
      calls: [...e.calls, call(['a-2'], '1', 3)],
      interruptions: [...e.interruptions, { worker: 1, atMs: 2_500, forMs: 0 }],
    }),
    { disordered: 1 },
  ],
  [
    'a second repeat after one kill',
    (e) => ({ calls: [...e.calls, call(['a-1', 'a-2'], '1', 3)] }),
    { needlessRepeats: 1 },
  ],
  ['a repeat without a kill', () => ({ interruptions: [] }), { needlessRepeats: 1 }],
  [
    'a repeat after the kill of another worker',
    () => ({ interruptions: [{ worker: 1, atMs: 1_500, forMs: 0 }] }),
    { needlessRepeats: 1 },
  ],
  [
    'a repeat before the kill',
    () => ({ interruptions: [{ worker: 0, atMs: 2_001, forMs: 0 }] }),
    { needlessRepeats: 1 },
  ],
  [
    'a repeat after the kill of a worker that called later',
    () => ({ interruptions: [{ worker: 0, atMs: 500, forMs: 499 }] }),
    { needlessRepeats: 1 },
  ],
];

test.each(planted)('catches %s', (_, plant, found) => {
  const verdict = judge({ ...sound(), ...plant(sound()) });
  expect(verdict).toMatchObject({ ...NOTHING, ...found });
  expect(verdict.findings.length).toBeGreaterThan(0);
});

test('the schedule of kills is the seed, whole, and gives every point its share', () => {
  expect(planKills(100, 7)).toEqual(planKills(100, 7));
  expect(planKills(100, 7)).not.toEqual(planKills(100, 8));
  const plan = planKills(100, 7);
  for (const point of POINTS) {
    const kills = plan.filter((kill) => kill.point === point);
    expect(kills.length).toBeGreaterThanOrEqual(5);
    if (!['backend-terminated', 'server-restart'].includes(point))
      expect(kills.some(({ how }) => how === 'stop')).toBe(true);
  }
});

/** The figures of a run without a fault, with this many kills and calls. */
const figures = (kills: number, repeats: number): Figures => ({
  verdict: { ...judge(sound()), calls: 10 + repeats, distinctCalls: 10 },
  struck: Array.from({ length: kills }, () => ({ kill: { point: POINTS[0] }, how: 'kill' })) as never,
  ...{ verified: { ok: true }, drained: true, crashes: 0, kills, seed: 1, seconds: 1, drainSeconds: 1 },
});
test('takes the repeat by the worker that goes on while the other stands still before its call', () => {
  const [first, repeat] = [{ ...call(['a-1', 'a-2']), atMs: 9_000 }, call(['a-1', 'a-2'], '1', 2, 1)];
  const interruptions = [{ worker: 0, atMs: 900, forMs: 8_050 }];
  expect(judge({ ...sound(), calls: [repeat, first], interruptions })).toMatchObject(NOTHING);
});
test('passes a run only if it was drained, whole, struck as planned, and repeated no call without need', () => {
  expect(outcomeOf(figures(3, 3))).toMatchObject({ passed: true, duplicateAttemptsPerKill: 1 });
  for (const fault of [
    { verdict: { ...figures(3, 0).verdict, lost: 1 } },
    { verdict: { ...figures(3, 0).verdict, needlessRepeats: 1 } },
    { verified: { ok: false } },
    { drained: false },
    { crashes: 1 },
    { kills: 4 },
  ])
    expect(outcomeOf({ ...figures(3, 0), ...fault }).passed).toBe(false);
});

/** The plan of a run, but for one kill of this point. */
const allButOne = (plan: readonly Kill[], point: Point): { kill: Kill }[] => {
  const missed = plan.findIndex((kill) => kill.point === point);
  return plan.filter((_, i) => i !== missed).map((kill) => ({ kill }));
};
test.each([
  ['grouping', POINTS],
  ['queuer', LANE_POINTS],
] as const)('a long run of %s strikes each point five times, and none is left out', (_, points) => {
  const kills = 5 * points.length;
  const plan = planKills(kills, 7, points);
  expect(haveShares(countByPoint(plan.map((kill) => ({ kill }))), kills, points)).toBe(true);
  for (const point of points) expect(haveShares(countByPoint(allButOne(plan, point)), kills, points)).toBe(false);
  expect(haveShares({}, kills, points)).toBe(false);
  expect(haveShares({}, 5, points)).toBe(true);
});
test('a run of many kills that spares a point does not pass', () => {
  const kills = 100;
  const struck = planKills(kills, 7).map((kill) => ({ kill, how: 'kill' })) as never;
  expect(outcomeOf({ ...figures(kills, 0), struck }).passed).toBe(true);
  expect(outcomeOf(figures(kills, 0)).passed).toBe(false);
});
test('nor does one of lanes', () => {
  const kills = 100;
  const struck = planKills(kills, 7, LANE_POINTS).map((kill) => ({ kill, how: 'kill' })) as never;
  const verdict = judgeLanes({ acked: [], stored: [], applied: [], calls: [], frozen: [] });
  const rest = { ...figures(kills, 0), verdict, batches: 0, lanes: 1, partitions: 0, freezes: 0, stops: 0 };
  expect(laneOutcomeOf({ ...rest, struck }).passed).toBe(true);
  expect(laneOutcomeOf(rest).passed).toBe(false);
});
