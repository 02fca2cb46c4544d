import type { Accounts, Balance } from './balance';
import { judgeBalance } from './balance';

const accounts = (more: Partial<Accounts> = {}): Accounts => ({
  acked: new Map([['plain', ['a', 'b']]]),
  toTell: ['a'],
  stored: [
    { id: 'a', handler: 'plain', state: 4 },
    { id: 'b', handler: 'plain', state: 4 },
  ],
  effects: new Map([
    ['a', 1],
    ['b', 1],
  ]),
  told: new Set(['a']),
  inversions: 0,
  found: [],
  ...more,
});
const ended = (state: number) => [
  { id: 'a', handler: 'plain', state: 4 },
  { id: 'b', handler: 'plain', state },
];

test.each<[string, Partial<Accounts>, Partial<Balance>]>([
  ['all is well', {}, { accepted: 2, succeeded: 2, lost: 0, stuck: 0, failed: 0, doubled: 0, untold: 0, findings: [] }],
  ['accepted and not stored', { acked: new Map([['plain', ['a', 'b', 'c']]]) }, { lost: 1 }],
  ['succeeded and never sent', { effects: new Map([['a', 1]]) }, { lost: 1 }],
  [
    'sent twice',
    {
      effects: new Map([
        ['a', 2],
        ['b', 1],
      ]),
    },
    { doubled: 1 },
  ],
  ['still in progress', { stored: ended(2) }, { stuck: 1, succeeded: 1 }],
  ['parked', { stored: ended(3) }, { stuck: 1 }],
  ['dead', { stored: ended(6) }, { failed: 1 }],
  ['nobody was told', { told: new Set() }, { untold: 1, findings: ['untold: nobody was told of the end of a'] }],
  [
    'a lane in another order',
    { inversions: 1, found: ['out of order: b'] },
    { disordered: 1, findings: ['out of order: b'] },
  ],
])('%s', (_, more, expected) => {
  expect(judgeBalance(accounts(more))).toMatchObject(expected);
});
