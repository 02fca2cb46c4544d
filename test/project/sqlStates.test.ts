import { CANCELLATION_STATES } from '../../workflows/planning/calls/cancellation';
import { CHUNK, EXECUTION, ITEM } from '../../workflows/planning/executions/states';
import { FANOUT_STATES } from '../../workflows/planning/fanouts/states';
import { STATUSES } from '../../workflows/planning/lanes/statuses';
import { BATCH_STATES, LEADER_STATES, TASK_STATES } from '../../workflows/planning/states';
import { read, trackedFiles } from './project';

/**
 * Statements compare states by number, and name each beside it, so that a DBA reads them without
 * this repository: `b.state in (1 /* open *\/, 3 /* unknown *\/)`.
 */
const OF_STATE = [TASK_STATES, BATCH_STATES, LEADER_STATES, FANOUT_STATES, EXECUTION, CHUNK, ITEM, CANCELLATION_STATES];
const COMPARED =
  /(?<![\w$.])(?:[a-z_]+\.)?(state|status) (is distinct from|=|<>|<=|<|>=|>|in|not in) ?(\((?:[^()]|\([^)]*\))*\)|-?\d+(?! \+)(?: ?\/\*.*?\*\/)?)/g;
/** What an inequality divides: not one state's name. */
const GROUPS =
  /^(open|ended|not (sent|ended|deleted|expired)|(open|ended) or \w+|unknown or ended|complete or expired|expired( or deleted)?|ended without a commit|open or sealed)$/;

const words = (name: string): string => name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
const namesOf = (column: string, code: number): string[] =>
  (column === 'status' ? [STATUSES] : OF_STATE).flatMap((names) =>
    Object.entries(names).flatMap(([name, number]) => (number === code ? [words(name)] : [])),
  );

/** Returns what is wrong with the states that a text compares. */
const wrongIn = (text: string): string[] => {
  const wrong: string[] = [];
  for (const [all, column, operator, value] of text.matchAll(COMPARED)) {
    const numbers = [...value!.matchAll(/(?<![\w$.])(-?\d+)(?!\d)(?: ?\/\* (.*?) \*\/)?/g)];
    if (value!.startsWith('(') && !/^\((\s*-?\d+(\s*\/\*.*?\*\/)?\s*,?)+\)$/.test(value!)) continue; // not a list of numbers
    for (const [, number, name] of numbers) {
      const fits =
        /[<>]/.test(operator!) && operator !== '<>'
          ? GROUPS.test(name ?? '')
          : namesOf(column!, Number(number)).includes(name ?? '');
      if (!fits) wrong.push(all);
    }
  }
  return wrong;
};

test('statements name the states that they compare by number', () => {
  const files = trackedFiles().filter((file) => /^(postgres|client|activities|workers)\/.*\.ts$/.test(file));
  const wrong: string[] = [];
  let compared = 0;
  for (const file of files) {
    for (const [sql] of read(file).matchAll(/`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)*'/g)) {
      if (!/\b(select|update|delete|insert|from|where|and|case)\b/.test(sql)) continue;
      compared += [...sql.matchAll(COMPARED)].length;
      wrong.push(...wrongIn(sql).map((what) => `${file}: ${what}`));
    }
  }
  expect(wrong).toEqual([]);
  expect(compared).toBeGreaterThan(300);
});

test.each([
  ['b.state = 1', 1],
  ['b.state = 1 /* open */', 0],
  ['b.state = 1 /* dead */', 1],
  ['state in (1 /* open */, 3)', 1],
  ['state in (1 /* open */, 3 /* unknown */)', 0],
  ['s.status < 10', 1],
  ['s.status < 10 /* open */', 0],
  ['s.status < 10 /* committed */', 1],
  ['state = $1', 0],
])('of "%s" %i are wrong', (sql, n) => {
  expect(wrongIn(sql)).toHaveLength(n);
});
