import { read } from '../project/project';
import { instrumented } from './coverage';
import { changedSince } from './folders';
import { mutated } from './mutants/mutant';
import { mutantsOf } from './mutants/typescript';
import { sampleOf } from './sample';

/** Which defects are planted: each line of code, and what may become of it. */

const linesOf = (code: string, language: 'typescript' | 'sql'): string[] =>
  mutantsOf('some.ts', code, language).map((mutant) => mutated(code, mutant));

test.each<[code: string, ...mutants: string[]]>([
  ['f(a < b);', ';', 'f(a <= b);', 'f(a >= b);'],
  ['f(a === b);', ';', 'f(a !== b);'],
  ['f(a && b);', ';', 'f(a);', 'f(b);'],
  ['f(a ?? b);', ';', 'f(a);', 'f(b);'],
  ['if (a) return;', 'if (false) return;'],
  ['f(a ? b : c);', ';', 'f(!(a) ? b : c);'],
  ['f(!a);', ';', 'f(a);'],
  ['const a = true;', 'const a = false;'],
  ['const a = 7;', 'const a = 8;'],
  ['const a = 1_000;', 'const a = 0;'],
  ['const MOST = 5 * 1_000;', 'const MOST = 5 / 1_000;', 'const MOST = 0 * 1_000;', 'const MOST = 5 * 0;'],
  ['const MOST = { a: 50 } as const;', 'const MOST = { a: 0 } as const;'],
  [`const a = 'held';`, `const a = '';`],
  ['const a = b - 1;', 'const a = b + 1;', 'const a = b - 2;'],
  ['const a = b + `c`;'],
  ['const a = b.filter(c);', 'const a = b;'],
  ['const a = b.some(c);', 'const a = b.every(c);'],
  ['const a = Math.min(b, c);', 'const a = Math.max(b, c);'],
  ['a++;', ';', 'a--;'],
  [`throw new Error(a < b ? 'c' : 'd');`],
  [`type A = 'b' | 7 | true;`],
  [`import a = require('b');`],
  [
    `if (typeof a === 'string') b();`,
    `if (false) b();`,
    `if (typeof a !== 'string') b();`,
    `if (typeof a === 'string') ;`,
  ],
])('%s', (code, ...mutants) => {
  expect(linesOf(code, 'typescript').sort()).toEqual([...mutants].sort());
});

const statement = (sql: string): string => `db.query({ name: 'some', text: \`${sql}\` });`;

test.each<[sql: string, ...mutants: string[]]>([
  ['select a from b where c = $1', 'select a from b where true', 'select a from b where c <> $1'],
  [
    'select a from b where c < $1 and d is null',
    'select a from b where true and d is null',
    'select a from b where c < $1 and true',
    'select a from b where c <= $1 and d is null',
    'select a from b where c >= $1 and d is null',
    'select a from b where c < $1 and d is not null',
  ],
  ['select a from b for update', 'select a from b '],
  ['select a from b for no key update skip locked', 'select a from b ', 'select a from b for no key update '],
  ['update a set b = 1 /* open */', 'update a set b = 2 /* open */'],
  ['select a from b limit 500', 'select a from b limit 0'],
  ['update a set b = true', 'update a set b = false'],
  ['select least(a, $1)', 'select greatest(a, $1)'],
  [
    'select a from b where c between $1 and $2 and d',
    'select a from b where true and d',
    'select a from b where c between $1 and $2 and true',
  ],
  [
    'select a from b where c in (select d from e where f) and g',
    'select a from b where true and g',
    'select a from b where c in (select d from e where true) and g',
    'select a from b where c in (select d from e where f) and true',
  ],
  [
    'select a from b where not exists (select 1)',
    'select a from b where true',
    'select a from b where exists (select 1)',
    'select a from b where not exists (select 2)',
  ],
  ['select a from b join c on d order by 1 limit $1', 'select a from b join c on true order by 1 limit $1'],
  [`select interval '1 ms' from b`],
  ["select ${a < 1 ? 'b = 1' : 'c'} from d"],
])('%s', (sql, ...mutants) => {
  expect(linesOf(statement(sql), 'sql').sort()).toEqual(mutants.map(statement).sort());
});

test('a text that is no statement has no SQL to change, and the name of a statement may be any', () => {
  expect(linesOf('const a = `Cannot select 1 and 2`;', 'sql')).toEqual([]);
  expect(linesOf(statement('select a').replace('db.query', 'return f'), 'typescript')).toEqual([]);
});

test('instrumented code does what it did, and says which spots it executed', () => {
  const code = `
    if (input.a?.b.filter((c) => c > 1).length === 2 && !input.d) input.seen++;
    else input.seen = input.seen === 0 ? -1 : 1;
    return input.seen;`;
  const mutants = mutantsOf('some.ts', `const f = (input) => {${code}}`, 'typescript');
  const shift = 'const f = (input) => {'.length;
  const spots = mutants.map(({ spot }, id) => ({
    id,
    spot: { ...spot, start: spot.start - shift, end: spot.end - shift },
  }));
  const run = (input: object): { result: unknown; hits: Set<number> } => {
    const hits = new Set<number>();
    // eslint-disable-next-line @typescript-eslint/no-implied-eval
    const f = new Function('input', 'mutantHit', instrumented(code, spots)) as (...args: unknown[]) => unknown;
    return { result: f(input, (id: number) => hits.add(id)), hits };
  };
  const kinds = (hits: ReadonlySet<number>): Set<string> => new Set([...hits].map((id) => mutants[id]!.original));
  const matching = run({ a: { b: [1, 2, 3] }, d: false, seen: 5 });
  expect(matching.result).toBe(6);
  expect(kinds(matching.hits)).toContain('input.seen++;');
  expect(kinds(matching.hits)).not.toContain('input.seen === 0');
  const other = run({ seen: 0 });
  expect(other.result).toBe(-1);
  expect(kinds(other.hits)).not.toContain('input.seen++;');
  expect(kinds(other.hits)).not.toContain('!input.d');
});

test('a sample is the same for the same seed, in order, and each mutant has its chance', () => {
  const all = Array.from({ length: 100 }, (_, i) => i);
  expect(sampleOf(all, 10, 1)).toEqual(sampleOf(all, 10, 1));
  expect(sampleOf(all, 10, 1)).not.toEqual(sampleOf(all, 10, 2));
  expect(sampleOf(all, 10, 1)).toEqual([...sampleOf(all, 10, 1)].sort((a, b) => a - b));
  expect(sampleOf(all, 200, 1)).toEqual(all);
  const chosen = new Set(Array.from({ length: 100 }, (_, seed) => sampleOf(all, 10, seed)).flat());
  expect(chosen.size).toBe(100);
});

test('the gate plants 50 in what the last commits changed', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  expect(scripts['check']).toContain('npm run mutants:changed && npm run test:ci');
  expect(scripts['mutants:changed']).toMatch(/^npm run mutants -- --changed HEAD~\d+ --sample 50 --least 70$/);
});

test('in a clone without the history no file is left out as unchanged', () => {
  expect(changedSince('HEAD~100000')).toBeNull();
  expect(changedSince('HEAD')).toBeInstanceOf(Set);
});
