import type { Naming, Source } from './named';
import { SOURCES } from './named';
import type { Fault, Finding, Round, Seen } from './truth';
import { judgeTruth } from './truth';

/**
 * The judge of the witness, apart from all that is started. Planted: each kind of lie, and what is
 * none.
 */

const EVERY_S = 3;
const seen = (standsS: number, naming: Naming = {}, more: Partial<Seen> = {}): Seen => ({
  standsMs: standsS * 1_000,
  naming,
  healthyBy: SOURCES.filter((source) => naming[source] === undefined),
  promise: null,
  ...more,
});
/** One mover, seen every 3 s from second 0 to `toS`, with answers that take `answersS`. */
const rounds = (toS: number, at: (s: number) => Seen, answersS = 0): Round[] =>
  Array.from({ length: Math.floor(toS / EVERY_S) + 1 }, (_, i) => ({
    atMs: i * EVERY_S * 1_000,
    untilMs: (i * EVERY_S + answersS) * 1_000,
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
    s <= fromS || s >= toS ? seen(0) : seen(s - fromS, how(s - fromS).naming, how(s - fromS));
const from = (namedFromS: number, naming: Naming) => (forS: number) => ({ naming: forS >= namedFromS ? naming : {} });
const all: Naming = { verify: 'violated', status: 'stands', explain: 'stands still', healthz: 'unhealthy' };
const without = (source: Source): Naming => Object.fromEntries(Object.entries(all).filter(([name]) => name !== source));

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
  ['stood 100 s, named from 33 s on', rounds(150, standing(20, 120, from(33, all))), [fault(20, 120)], []],
  ['stood 100 s, named from 57 s on', rounds(150, standing(20, 120, from(57, all))), [fault(20, 120)], []],
  ['stood 100 s, named from 69 s on', rounds(150, standing(20, 120, from(69, all))), [fault(20, 120)], ['silence']],
  [
    'named at 33 s, and from 45 s on called healthy again',
    rounds(
      150,
      standing(20, 90, (forS) => ({ naming: forS >= 33 && forS < 45 ? all : {} })),
    ),
    [fault(20, 90)],
    ['silence'],
  ],
  [
    'one round in which nobody answered in time',
    rounds(
      150,
      standing(20, 120, (forS) => ({ naming: forS === 70 ? {} : all })),
    ),
    [fault(20, 120)],
    [],
  ],
  [
    'named, while explain promises that it goes on',
    rounds(
      150,
      standing(20, 120, () => ({ naming: all, promise: 'which may take another 900 ms' })),
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
      standing(20, 120, (forS) => ({ naming: all, promise: forS < 70 ? 'is at work now' : null })),
    ),
    [fault(20, 120)],
    [],
  ],
  [
    'two stands, and nobody said so of either',
    rounds(300, (s) => (s < 150 ? standing(20, 90, () => ({}))(s) : standing(160, 230, () => ({}))(s))),
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
    'called standing by answers of a round in which the next fault began',
    rounds(120, (s) => seen(0, s > 86 ? status : {}), 2),
    [fault(0, 20), fault(88, 200)],
    [],
  ],
  [
    'called standing by a round that ended before the next fault',
    rounds(120, (s) => seen(0, s > 83 ? status : {}), 2),
    [fault(0, 20), fault(90, 200)],
    ['false alarm'],
  ],
  [
    'moves in between, so that it is not calm',
    rounds(120, (s) => seen(s % 30 === 0 ? 20 : 0, status)),
    [fault(0, 20)],
    [],
  ],
  [
    'stood 100 s, and all said healthy: nobody, and then each',
    rounds(
      150,
      standing(20, 120, () => ({})),
    ),
    [fault(20, 120)],
    ['silence', ...SOURCES.map(() => 'silence' as const)],
  ],
  ...SOURCES.flatMap((source): [string, Round[], Fault[], Finding['rule'][]][] => [
    [
      `all but ${source} said so`,
      rounds(
        150,
        standing(20, 120, () => ({ naming: without(source) })),
      ),
      [fault(20, 120)],
      ['silence'],
    ],
    [
      `${source} said so until 65 s, and then called it healthy`,
      rounds(
        150,
        standing(20, 120, (forS) => ({ naming: forS < 65 ? all : without(source) })),
      ),
      [fault(20, 120)],
      ['silence'],
    ],
    [
      `${source} said so from 69 s on`,
      rounds(
        150,
        standing(20, 120, (forS) => ({ naming: forS < 69 ? without(source) : all })),
      ),
      [fault(20, 120)],
      [],
    ],
    [
      `${source} gave no answer in one round after 65 s, and then called it healthy`,
      rounds(
        150,
        standing(20, 120, (forS) => ({
          naming: forS < 65 ? all : without(source),
          ...(forS === 70 ? { healthyBy: [] } : {}),
        })),
      ),
      [fault(20, 120)],
      ['silence'],
    ],
    [
      `${source} gave no answer from 40 s on`,
      rounds(
        150,
        standing(20, 120, (forS) => (forS < 40 ? { naming: all } : { naming: without(source), healthyBy: [] })),
      ),
      [fault(20, 120)],
      [],
    ],
    [
      `${source} called one of two stands healthy`,
      rounds(300, (s) =>
        s < 150
          ? standing(20, 120, () => ({ naming: all }))(s)
          : standing(160, 260, () => ({ naming: without(source) }))(s),
      ),
      [],
      ['silence'],
    ],
  ]),
])('%s', (_, given, faults, expected) => {
  expect(judgeTruth(given, faults).findings.map(({ rule }) => rule)).toEqual(expected);
});

test.each(SOURCES)('%s is told to have called healthy what stood', (source) => {
  const given = rounds(
    150,
    standing(20, 120, () => ({ naming: without(source) })),
  );
  expect(judgeTruth(given, [fault(20, 120)]).findings.map(({ text }) => text)).toEqual([
    `plain had not moved for 70 s, and ${source} called it healthy`,
  ]);
});

test('counts who named what stood, and how long the first naming took', () => {
  const given = rounds(
    150,
    standing(20, 120, (forS) => ({
      naming: forS >= 90 ? { ...status, healthz: 'x' } : forS >= 40 ? status : {},
      healthyBy: [],
    })),
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
