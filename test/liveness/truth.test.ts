import type { Mover } from './movers';
import { HERD, MOVERS } from './movers';
import type { Answers, Naming } from './named';
import { namingOf, promiseOf } from './named';
import type { Fault, Finding, Round, Seen } from './truth';
import { judgeTruth } from './truth';

/**
 * The judge of the witness, apart from all that is started. Planted: each kind of lie, and what is
 * none.
 */

const EVERY_S = 3;
const seen = (standsS: number, naming: Naming = {}, promise: string | null = null): Seen => ({
  standsMs: standsS * 1_000,
  naming,
  promise,
});
/** One mover, seen every 3 s from second 0 to `toS`. */
const rounds = (toS: number, at: (s: number) => Seen): Round[] =>
  Array.from({ length: Math.floor(toS / EVERY_S) + 1 }, (_, i) => ({
    atMs: i * EVERY_S * 1_000,
    seen: { plain: at(i * EVERY_S) },
  }));
const status = { status: 'stands' };
const fault = (fromS: number, toS: number, settledS = toS): Fault => ({
  name: 'f',
  fromMs: fromS * 1_000,
  toMs: toS * 1_000,
  settledMs: settledS * 1_000,
});
/** Moves until `fromS`, then stands until `toS`, then moves. */
const standing =
  (fromS: number, toS: number, how: (forS: number) => Partial<Seen>) =>
  (s: number): Seen =>
    s <= fromS || s >= toS ? seen(0) : { ...seen(s - fromS), ...how(s - fromS) };
const from = (namedFromS: number, naming: Naming) => (forS: number) => ({ naming: forS >= namedFromS ? naming : {} });

test.each<[string, Round[], Fault[], Finding['rule'][]]>([
  [
    'stood 70 s, and all said healthy',
    rounds(
      120,
      standing(20, 90, () => ({})),
    ),
    [fault(20, 90)],
    ['silence'],
  ],
  [
    'stood 57 s, and all said healthy',
    rounds(
      120,
      standing(20, 78, () => ({})),
    ),
    [fault(20, 78)],
    [],
  ],
  ['stood 100 s, named from 33 s on', rounds(150, standing(20, 120, from(33, status))), [fault(20, 120)], []],
  ['stood 100 s, named from 57 s on', rounds(150, standing(20, 120, from(57, status))), [fault(20, 120)], []],
  ['stood 100 s, named from 75 s on', rounds(150, standing(20, 120, from(75, status))), [fault(20, 120)], ['silence']],
  [
    'named at 33 s, and from 45 s on called healthy again',
    rounds(
      150,
      standing(20, 120, (forS) => ({ naming: forS >= 33 && forS < 45 ? status : {} })),
    ),
    [fault(20, 120)],
    ['silence'],
  ],
  [
    'one round in which nobody answered in time',
    rounds(
      150,
      standing(20, 120, (forS) => ({ naming: forS === 70 ? {} : status })),
    ),
    [fault(20, 120)],
    [],
  ],
  [
    'named, while explain promises that it goes on',
    rounds(
      150,
      standing(20, 120, () => ({ naming: status, promise: 'which may take another 900 ms' })),
    ),
    [fault(20, 120)],
    ['promise'],
  ],
  [
    'a promise to what has stood for 30 s',
    rounds(
      150,
      standing(20, 50, () => ({ promise: 'which may take another 900 ms' })),
    ),
    [fault(20, 50)],
    [],
  ],
  [
    'a promise of its last second',
    rounds(
      150,
      standing(20, 120, (forS) => ({ naming: status, promise: forS < 70 ? 'is at work now' : null })),
    ),
    [fault(20, 120)],
    [],
  ],
  [
    'two stands, and nobody said so of either',
    rounds(300, (s) => (s < 150 ? standing(20, 100, () => ({}))(s) : standing(160, 240, () => ({}))(s))),
    [],
    ['silence', 'silence'],
  ],
  [
    'moves for 60 s, still called standing',
    rounds(120, (s) => seen(0, s > 20 ? status : {})),
    [fault(0, 20)],
    ['false alarm'],
  ],
  ['called standing until 50 s after the fault', rounds(120, (s) => seen(0, s < 70 ? status : {})), [fault(0, 20)], []],
  [
    'called standing while one target of many still stands',
    rounds(160, (s) => seen(0, s < 100 ? status : {})),
    [fault(0, 20, 95)],
    [],
  ],
  [
    'called standing for 60 s after the last target went on',
    rounds(200, (s) => seen(0, s < 165 ? status : {})),
    [fault(0, 20, 95)],
    ['false alarm'],
  ],
  [
    'called standing in the fault after it',
    rounds(120, (s) => seen(0, s > 90 ? status : {})),
    [fault(0, 20), fault(85, 200)],
    [],
  ],
  [
    'moves in between, so that it is not calm',
    rounds(120, (s) => seen(s % 30 === 0 ? 20 : 0, status)),
    [fault(0, 20)],
    [],
  ],
])('%s', (_, given, faults, expected) => {
  expect(judgeTruth(given, faults).findings.map(({ rule }) => rule)).toEqual(expected);
});

test('counts who named what stood, and how long the first naming took', () => {
  const given = rounds(
    150,
    standing(20, 120, (forS) => ({ naming: forS >= 90 ? { ...status, healthz: 'x' } : forS >= 40 ? status : {} })),
  );
  expect(judgeTruth(given, [fault(20, 120)])).toEqual({
    findings: [],
    stood: 1,
    rounds: 13,
    namedBy: { verify: 0, status: 13, explain: 0, healthz: 3 },
    namedAfterMs: 40_000,
    calmRounds: 0,
  });
});

const quiet: Answers = { verify: null, status: null, explained: new Map(), healthz: [] };
const mover = (name: string): Mover => MOVERS.find((one) => one.name === name)!;
const check = (name: string, ...violations: object[]): Partial<Answers> => ({
  verify: { checks: [{ name, violations }] },
});
const stateOf = (handler: string, more: object): Partial<Answers> => ({
  status: [{ handler, served: true, stalled: [], partitions: null, ...more }],
});
const part = (name: string, error: string): Partial<Answers> => ({
  healthz: [
    { worker: 0, parts: [{ part: 'database', healthy: true, error: null }] },
    { worker: 1, parts: [{ part: name, healthy: false, error }] },
  ],
});
const explains = (name: string, text: string): Partial<Answers> => ({
  explained: new Map([[name, { text, waitsFor: 'call' }]]),
});

test.each<[string, Partial<Answers>, string[]]>([
  ['verify: a leader of the handler', check('a woken leader takes a turn', { handler: 'plain' }), ['plain']],
  ['verify: a queuer', check('a woken queuer takes a turn', { queuer: 0 }), ['lane', 'lane-accepted']],
  ['verify: nothing violated', check('a woken leader takes a turn'), []],
  ['status: a leader', stateOf('plain', { stalled: [{ kind: 'leader' }] }), ['plain']],
  ['status: a queuer', stateOf('lane', { stalled: [{ kind: 'queuer' }] }), ['lane']],
  ['status: a monitor', stateOf('accepted', { stalled: [{ kind: 'monitor' }] }), ['accepted/asks']],
  ['status: the notifier', stateOf('plain', { stalled: [{ kind: 'notifier' }] }), ['callbacks']],
  ['status: no worker', stateOf('accepted', { served: false }), ['accepted']],
  ['status: partitions that nobody holds', stateOf('placed', { partitions: { n: 8, held: 7 } }), ['placed']],
  ['healthz: the database', part('database', 'no answer within 2000 ms'), MOVERS.map(({ name }) => name)],
  [
    'healthz: what stands is not known',
    part('turns', 'Postgres gave no answer within 2000 ms'),
    MOVERS.map(({ name }) => name),
  ],
  [
    'verify: a batch that is not called',
    check('a batch that a dispatch carries is called', { handler: 'plain' }),
    ['plain'],
  ],
  ['verify: a granted one', check('a batch that a submitter was granted is called', { handler: 'lane' }), ['lane']],
  ['status: a dispatch', stateOf('lane', { stalled: [{ kind: 'dispatch' }] }), ['lane']],
  [
    'healthz: a dispatch of a queuer',
    part('turns', 'dispatch of batch 7 of queuer 0 of handler "lane" has had overdue work for 61 s'),
    ['lane'],
  ],
  [
    'healthz: a dispatch of a leader',
    part('turns', 'dispatch of batch 7 of leader "0" of handler "plain" has had overdue work for 61 s'),
    ['plain'],
  ],
  [
    'explain: an accepted one',
    explains('accepted/asks', 'its next poll was due 31 s ago and is overdue'),
    ['accepted/asks'],
  ],
  ['healthz: a leader', part('turns', 'leader "0" of handler "plain" was woken 40 s ago'), ['plain']],
  ['healthz: a queuer', part('turns', 'queuer 0 was woken 40 s ago'), ['lane', 'lane-accepted']],
  ['healthz: no answer', { healthz: [{ worker: 0, parts: null }] }, MOVERS.map(({ name }) => name)],
  ['explain: has stalled', explains('lane', 'In lane s1. Queuer 0 has stalled: it was woken 40 s ago'), ['lane']],
  ['explain: silent for long', explains('plain', 'but leader "0" has been silent for 12 s past its lease'), ['plain']],
  ['explain: silent for a moment', explains('plain', 'but leader "0" has been silent for 447 ms past its lease'), []],
  ['explain: silent for a second', explains('plain', 'but leader "0" has been silent for 1 s past its lease'), []],
  ['explain: is at work', explains('plain', 'It is next for leader "0", which is at work now.'), []],
])('%s is named', (_, said, named) => {
  const answers = { ...quiet, ...said };
  expect(MOVERS.filter((one) => Object.keys(namingOf(one, answers)).length > 0).map(({ name }) => name)).toEqual(named);
});

test.each<[string, boolean]>([
  ['It is in call 1 of batch 7 (3 tasks) to target "k1", which may take another 900 ms.', true],
  ['It is in call 1 of batch 7 (3 tasks) to target "k1", which may take another 1.5 s.', true],
  ['The same batch is sent again in 2 s.', true],
  ['It is next for leader "0", which is at work now.', true],
  ['It is ready, but leader "0" has stalled: it was woken 40 s ago.', false],
  ['Succeeded after 1 counted attempt.', false],
])('a promise or none: %s', (text, promises) => {
  expect(promiseOf(mover(HERD), { ...quiet, ...explains(HERD, text) })).toEqual(promises ? text : null);
});
