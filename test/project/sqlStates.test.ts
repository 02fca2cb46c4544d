import { BULK_STATES } from '../../workflows/planning/bulk/states';
import { CANCELLATION_CAUSES, CANCELLATION_STATES } from '../../workflows/planning/calls/cancellation';
import { CHUNK, EXECUTION, ITEM } from '../../workflows/planning/executions/states';
import { FANOUT_STATES } from '../../workflows/planning/fanouts/states';
import { STATUSES } from '../../workflows/planning/lanes/statuses';
import { APPROACHES, LANE_KINDS, ON_INVALID, STRATEGIES } from '../../workflows/planning/lanes/types';
import { BATCH_STATES, FLUSH_REASONS, LEADER_STATES, TASK_STATES } from '../../workflows/planning/states';
import { read, trackedFiles } from './project';

/**
 * Statements give states by number, and name each beside it, so that a DBA reads them without this
 * repository: `b.state in (1 /* open *\/, 3 /* unknown *\/)`, `then 7 /* dissolved *\/`.
 */
type Names = Readonly<Record<string, number>>;
const OF_STATE = [
  ...[TASK_STATES, BATCH_STATES, LEADER_STATES, FANOUT_STATES],
  ...[EXECUTION, CHUNK, ITEM, CANCELLATION_STATES, BULK_STATES],
];
const NAMES: Readonly<Record<string, readonly Names[]>> = {
  state: OF_STATE,
  status: [STATUSES],
  why: [CANCELLATION_CAUSES],
  reason: [FLUSH_REASONS],
  kind: [LANE_KINDS],
  approach: [APPROACHES],
  on_invalid: [ON_INVALID],
  strategy: [STRATEGIES],
  /** A parameter: the statement does not say which of them it is. */
  smallint: [...OF_STATE, STATUSES, FLUSH_REASONS],
};
const NUMBER = String.raw`-?\d+(?! \+)(?: ?\/\*.*?\*\/)?`;
const COLUMN = String.raw`(?<![\w$.])(?:[a-z_]+\.)?(state|status|why|reason|kind|approach|on_invalid|strategy)`;
const OPERATOR = String.raw`(is distinct from|=|<>|<=|<|>=|>|in|not in|between)`;
const VALUE = String.raw`(\((?:[^()]|\([^)]*\))*\)|${NUMBER} and ${NUMBER}|${NUMBER})`;
const COMPARED = new RegExp(`(?:${COLUMN}|\\$\\d+::(smallint)) ${OPERATOR} ?${VALUE}`, 'g');
/** A \`case\` that writes a column, or is read as one; and one that compares a column. */
const WRITTEN = new RegExp(`${COLUMN} = (case (?:(?!\\bend\\b)[^])*)end`, 'g');
const READ = /(?=(\bcase (?:(?!\b(?:case|end)\b)[^])*)end(?:::smallint)? (?:as )?(state|status)\b)/g;
const CHOSEN = new RegExp(
  `(?:then|else) (${NUMBER})(?!\\d|::)|(?:then|else) (-?\\d+::smallint(?: ?\\/\\*.*?\\*\\/)?)`,
  'g',
);
const BRANCHED = new RegExp(`\\bcase ${COLUMN.replace('(?<![\\w$.])', '')} ((?:(?!\\bend\\b)[^])*)end`, 'g');
const BRANCH = new RegExp(`when (${NUMBER})`, 'g');
const ALWAYS = /(?:then|else) (-?\d+::smallint(?: ?\/\*.*?\*\/)?)/g;
const DEFAULT = /\b(state|status|strategy) smallint not null default (-?\d+(?: \/\*.*?\*\/)?)/g;
/** What an inequality divides: not one state's name. */
const GROUPS =
  /^(open|ended|not (sent|ended|deleted|expired)|(open|ended) or \w+|unknown or ended|complete or expired|expired( or deleted)?|ended without a commit|open or sealed)$/;

const words = (name: string): string => name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
const namesOf = (column: string, code: number): string[] =>
  NAMES[column]!.flatMap((names) =>
    Object.entries(names).flatMap(([name, number]) => (number === code ? [words(name)] : [])),
  );

interface Given {
  column: string;
  operator: string;
  value: string;
  all: string;
}
/** Returns every place of a text that gives a state by number. */
const givenIn = (text: string): Given[] => [
  ...[...text.matchAll(COMPARED)].flatMap(([all, column, parameter, operator, value]) =>
    // A list of something else, such as a statement.
    value!.startsWith('(') && !/^\((\s*-?\d+(\s*\/\*.*?\*\/)?\s*,?)+\)$/.test(value!)
      ? []
      : [{ column: column ?? parameter!, operator: operator!, value: value!, all }],
  ),
  ...[...text.matchAll(WRITTEN)].flatMap(([, column, body]) => chosenIn(body!, column!)),
  ...[...text.matchAll(READ)].flatMap(([, body, column]) => chosenIn(body!, column!)),
  ...[...text.matchAll(ALWAYS)].map(([all, value]) => ({ column: 'smallint', operator: '=', value: value!, all })),
  ...[...text.matchAll(BRANCHED)].flatMap(([, column, body]) =>
    [...body!.matchAll(BRANCH)].map(([all, value]) => ({ column: column!, operator: '=', value: value!, all })),
  ),
];
const chosenIn = (body: string, column: string): Given[] =>
  [...body.matchAll(CHOSEN)].map(([all, plain, cast]) => ({ column, operator: '=', value: plain ?? cast!, all }));

/** Returns what is wrong with the states that a text gives. */
const wrongIn = (text: string): string[] => {
  const wrong = givenIn(text).flatMap(({ column, operator, value, all }) =>
    [...value.matchAll(/(?<![\w$.])(-?\d+)(?!\d)(?:::smallint)?(?: ?\/\* (.*?) \*\/)?/g)].flatMap(
      ([, number, name]) => {
        const fits =
          /[<>]/.test(operator) && operator !== '<>'
            ? GROUPS.test(name ?? '')
            : namesOf(column, Number(number)).includes(name ?? '') ||
              (operator === 'between' && GROUPS.test(name ?? ''));
        return fits ? [] : [all];
      },
    ),
  );
  return [...new Set(wrong)];
};

test('statements name the states that they give by number', () => {
  const files = trackedFiles().filter((file) => /^(postgres|client|activities|workers)\/.*\.ts$/.test(file));
  const wrong: string[] = [];
  let given = 0;
  for (const file of files) {
    for (const [sql] of read(file).matchAll(/`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)*'/g)) {
      if (!/\b(select|update|delete|insert|from|where|and|case)\b/.test(sql)) continue;
      given += givenIn(sql).length;
      wrong.push(...wrongIn(sql).map((what) => `${file}: ${what}`));
    }
  }
  expect(wrong).toEqual([]);
  expect(given).toBeGreaterThan(350);
});

test('the migrations name the states of checks, indexes and defaults', () => {
  const files = trackedFiles().filter((file) => /^postgres\/migrations\/.*\.sql$/.test(file));
  const wrong: string[] = [];
  let given = 0;
  for (const file of files) {
    const sql = read(file).replace(/--.*$/gm, '');
    given += givenIn(sql).length;
    wrong.push(...wrongIn(sql).map((what) => `${file}: ${what}`));
    for (const [all, column, value] of sql.matchAll(DEFAULT))
      if (wrongIn(`${column} = ${value}`).length > 0) wrong.push(`${file}: ${all}`);
  }
  expect(wrong).toEqual([]);
  expect(given).toBeGreaterThan(60);
});

describe('the comment of a column gives its numbers and their names', () => {
  const comments = new Map(
    [...read('postgres/schema.sql').matchAll(/^comment on column (\S+) is '(.*)';$/gm)].map(([, column, text]) => [
      column!,
      text!,
    ]),
  );
  const TASK_ENDS = Object.fromEntries(Object.entries(TASK_STATES).filter(([, code]) => code >= TASK_STATES.succeeded));

  test.each<[string, Names]>([
    ['batch.reason', FLUSH_REASONS],
    ['batch.state', BATCH_STATES],
    ['cancellation.state', CANCELLATION_STATES],
    ['cancellation.why', CANCELLATION_CAUSES],
    ['chunk.state', CHUNK],
    ['execution.state', EXECUTION],
    ['fanout.state', FANOUT_STATES],
    ['lane.approach', APPROACHES],
    ['lane.kind', LANE_KINDS],
    ['lane.on_invalid', ON_INVALID],
    ['lane_batch.status', STATUSES],
    ['leader.last_reason', FLUSH_REASONS],
    ['leader.state', LEADER_STATES],
    ['outcome.state', TASK_ENDS],
    ['queuer.state', LEADER_STATES],
    ['queuer.strategy', STRATEGIES],
    ['work_item.state', ITEM],
  ])('%s', (column, names) => {
    const told = (comments.get(column) ?? '').split(', ').sort();
    expect(told).toEqual(
      Object.entries(names)
        .map(([name, code]) => `${code} ${words(name)}`)
        .sort(),
    );
  });

  test('and every column of states has one', () => {
    const columns = [...read('postgres/schema.sql').matchAll(/^create table (\w+) \(\n([^]*?)\n\)/gm)].flatMap(
      ([, table, body]) =>
        [...body!.matchAll(/^  (\w+) smallint/gm)].flatMap(([, column]) =>
          Object.hasOwn(NAMES, column!) ? [`${table}.${column}`] : [],
        ),
    );
    expect(columns.length).toBeGreaterThan(12);
    // The answer's status in HTTP.
    expect(columns.filter((column) => !comments.has(column))).toEqual(['idempotency_key.status']);
  });
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
  ['c.why = 0', 1],
  ['c.why = 0 /* caller */', 0],
  ['l.on_invalid = 1 /* continue */', 1],
  ['set state = case when n = 1 then 7 else $2 end', 1],
  ['set state = case when n = 1 then 7 /* dissolved */ else $2 end', 0],
  ['set n = case when n = 1 then 7 else 2 end', 0],
  ['case when n = 1 then 2 else b.state end as state', 1],
  ['case when n = 1 then 2::smallint else s.n end', 1],
  ['case when n = 1 then 2::smallint /* in-progress */ else s.n end', 0],
  ["case state when 2 then 'a' end", 1],
  ["case state when 2 /* complete */ then 'a' end", 0],
  ['$2::smallint in (3 /* submitted */, 4)', 1],
  ['$2::smallint <> 0 /* idle */', 0],
  ['status between 2 /* unknown */ and 5', 1],
])('of "%s" %i are wrong', (sql, n) => {
  expect(wrongIn(sql)).toHaveLength(n);
});

// Floating point made more than 2,023 ms of 2.023 s, and what rounds up waited one more.
test('milliseconds are computed of exact seconds', () => {
  const inexact = trackedFiles()
    .filter((file) => /^postgres\/.*\.ts$/.test(file))
    .filter((file) => /::float8\)* \* 1000\b/.test(read(file)));
  expect(inexact).toEqual([]);
});
