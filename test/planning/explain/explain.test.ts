import { explain } from '../../../workflows/planning/explain';
import { WAITS_FOR } from '../../../workflows/planning/explain/facts';
import { DAY_MS, formatDuration } from '../../../workflows/planning/duration';
import { BATCHED_CASES } from './cases/batched';
import { DUE_CASES } from './cases/due';
import { EDGE_CASES } from './cases/edges';
import { facts } from './cases/facts';
import { QUEUED_CASES } from './cases/queued';

const TABLE = [...QUEUED_CASES, ...DUE_CASES, ...BATCHED_CASES, ...EDGE_CASES];

test.each(TABLE)('%s [G13]', (_, parts, waitsFor, nextStepInMs, text) => {
  const given = facts(parts);
  const answer = explain(given);
  expect(answer).toMatchObject({ id: 't1', state: given.state, waitsFor, nextStepInMs });
  expect(answer.text).toMatch(text);
  expect(answer.facts).toBe(given);
});

test('every reason there is to wait is in the table [G13]', () => {
  const elsewhere = ['lane', 'partition']; // have tables of their own
  const all = [...WAITS_FOR.filter((what) => !elsewhere.includes(what)), null];
  expect(new Set(TABLE.map(([, , waitsFor]) => waitsFor))).toEqual(new Set(all));
  // Those of lanes and nodes are decided elsewhere.
  expect(new Set([...WAITS_FOR, null])).toEqual(new Set([...all, 'lane', 'partition']));
});

test.each([
  [-3, '0 ms'],
  [0.2, '1 ms'],
  [999, '999 ms'],
  [1_000, '1 s'],
  [4_000, '4 s'],
  [1_540, '1.5 s'],
  [9_999, '10 s'],
  [10_000, '10 s'],
  [599_000, '599 s'],
  [600_000, '10 min'],
  [35_999_999, '600 min'],
  [36_000_000, '10 h'],
  [259_199_999, '72 h'],
  [3 * DAY_MS, '3 d'],
  [9 * DAY_MS, '9 d'],
])('a duration of %d ms reads %s', (ms, text) => expect(formatDuration(ms)).toBe(text));
