import { TurnCounter } from './turnCounter';

/** A leader that spins is told from one that works off a backlog, to the turn. */

interface Turns {
  leader?: number;
  /** The turn handed something to a dispatch. */
  worked?: boolean;
  /** The instant of the store's clock. */
  at?: number;
  times: number;
}

const cases: [string, Turns[], string][] = [
  ['200 idle turns at one instant', [{ times: 200 }], 'no'],
  ['201 idle turns at one instant', [{ times: 201 }], 'at 201'],
  ['a turn that worked counts the idle ones anew', [{ times: 200 }, { worked: true, times: 1 }, { times: 200 }], 'no'],
  ['and no more than that', [{ times: 200 }, { worked: true, times: 1 }, { times: 201 }], 'at 402'],
  ['5,000 turns that worked, a backlog', [{ worked: true, times: 5_000 }], 'no'],
  ['5,001 turns that worked', [{ worked: true, times: 5_001 }], 'at 5001'],
  ['idle turns count as turns', [{ times: 1 }, { worked: true, times: 5_000 }], 'at 5001'],
  ['the clock moves', [{ times: 200 }, { at: 2, times: 200 }], 'no'],
  ['and stands again', [{ times: 200 }, { at: 2, times: 201 }], 'at 401'],
  [
    'the clock moves in a backlog',
    [
      { worked: true, times: 5_000 },
      { at: 2, worked: true, times: 5_000 },
    ],
    'no',
  ],
  ['two leaders, each 200', [{ times: 200 }, { leader: 2, times: 200 }], 'no'],
  ['the second of two leaders', [{ times: 200 }, { leader: 2, times: 201 }], 'at 401'],
  [
    'what one leader works does not excuse the other',
    [{ times: 200 }, { leader: 2, worked: true, times: 1 }, { times: 1 }],
    'at 202',
  ],
];

/** Which turn of all was the first that spun. */
const firstOf = (turns: readonly Turns[]): string => {
  const counter = new TurnCounter();
  let n = 0;
  for (const { leader = 1, worked = false, at = 1, times } of turns)
    for (let i = 0; i < times; i++) {
      n++;
      if (counter.spins(leader, worked, at)) return `at ${n}`;
    }
  return 'no';
};

test.each(cases)('%s', (_, turns, spins) => expect(firstOf(turns)).toBe(spins));

test('two leaders in turns: each has its own count', () => {
  const counter = new TurnCounter();
  const spins = Array.from({ length: 402 }, (_, i) => counter.spins(1 + (i % 2), false, 1));
  expect(spins.indexOf(true)).toBe(400);
  expect(spins[401]).toBe(true);
});
