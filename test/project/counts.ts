import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { crowdedIn } from './clauses';
import { read, ROOT, trackedFiles } from './project';
import { testNames } from './testNames';

/**
 * `npm run lint:counts`: what can be counted of layout and language, each beside the most that is
 * allowed. Where the goal is not reached yet, the limit is what there is: it may only be lowered.
 */

interface Count {
  what: string;
  most: number;
  n: number;
  where: string[];
}

const NAMED_PATH =
  /(?<![\w./@-])((?:docs|workflows|activities|postgres|client|workers|examples|deploy)\/[\w./-]+\.(?:md|ts|sql))\b/g;
/** "one row per segment" in place of "one row per segment"; not "one at a time". */
const ONE_X_A_Y =
  /\bone (?!(?:after|as|at|becomes|counts|end|for|has|in|is|like|of|or|place|that|to|wherever|which|with|without)\b)\w+ an? \w+/i;
const PRODUCT = /^(workflows|handlers|activities|postgres|client|workers)\//;
const files = trackedFiles().filter((file) => existsSync(path.join(ROOT, file)));
const code = files.filter((file) => /\.tsx?$/.test(file));
const product = code.filter((file) => PRODUCT.test(file));
const statements = files.filter((file) => file.endsWith('.sql'));
/** Generated pages repeat texts of the product, which are counted there; one names tests. */
const markdown = files.filter(
  (file) => file.endsWith('.md') && !file.startsWith('docs/reference/') && file !== 'test/DEMANDS.md',
);
const examples = code.filter((file) => file.startsWith('examples/'));
const linesOf = new Map(
  [...code, ...statements, ...markdown].map((file) => [file, read(file).replace(/\n$/, '').split('\n')]),
);

const matching = (pattern: RegExp, of: readonly string[]): string[] =>
  of.flatMap((file) => linesOf.get(file)!.flatMap((line, i) => (pattern.test(line) ? [`${file}:${i + 1}`] : [])));
const phrase = (what: string, pattern: RegExp, most: number): Count => {
  const where = matching(pattern, [...product, ...examples, ...markdown]);
  return { what: `"${what}" in product, examples and documents`, most, n: where.length, where };
};

const ignores = matching(
  /prettier-ignore/,
  code.filter((file) => file !== 'test/project/counts.ts'),
);
const longest = code.map((file) => ({ file, n: linesOf.get(file)!.length })).sort((a, b) => b.n - a.n);
const folders = new Map<string, number>();
for (const file of code) folders.set(path.dirname(file), (folders.get(path.dirname(file)) ?? 0) + 1);
const flat = [...folders].filter(([, n]) => n > 20).map(([folder, n]) => `${folder} (${n})`);
const comments = matching(/^.{101,}$/, code).filter((place) => {
  const [file, line] = place.split(':');
  return /^\s*(\/\/|\*|\/\*\*)/.test(linesOf.get(file!)![Number(line) - 1]!);
});

const crowded = product
  .filter((file) => file.startsWith('postgres/'))
  .flatMap((file) => crowdedIn(read(file)).map((line) => `${file}:${line}`));
const widest = code
  .flatMap((file) => linesOf.get(file)!.map((line, i) => ({ place: `${file}:${i + 1}`, n: line.length })))
  .sort((a, b) => b.n - a.n)[0]!;
/** Paths of this repository that documents name, in code blocks too, and that are not here. */
const lost = markdown
  .filter((file) => file !== 'CHANGELOG.md')
  .flatMap((file) =>
    linesOf
      .get(file)!
      .flatMap((line, i) =>
        [...line.matchAll(NAMED_PATH)]
          .filter(
            ([, named]) =>
              ![ROOT, path.dirname(path.join(ROOT, file))].some((from) => existsSync(path.join(from, named!))),
          )
          .map(([, named]) => `${file}:${i + 1} ${named}`),
      ),
  );

/** State of a module that changes, and why it may: else it is built once and handed over. */
const STATE_OF_MODULES: Readonly<Record<string, string>> = {
  'handlers/http/jsonSchema/jsonSchema.ts meta': 'the compiled meta-schema, a constant: 50 ms per schema otherwise',
  'handlers/http/cel/engine.ts engine': 'the functions of expressions, a constant; its meter begins anew with each',
  'client/cli/main.ts decided': 'the program itself',
  'handlers/tracing/openTelemetry.ts loaded': 'what require keeps: the API, or that it is not there',
  'postgres/pool.ts created': 'beside a class of pg, as weak as a field',
  'workers/api/server.ts contexts': 'beside a class of Fastify, as weak as a field',
  'workers/embedded/guardSource.ts server': 'the program itself, as text',
  'workflows/fanoutHelper.ts inbox': 'each workflow run has its own modules',
  'workflows/helper.ts inbox': 'each workflow run has its own modules',
};
const hidden = product.flatMap((file) => {
  const source = read(file);
  const state = /^(?:export )?(?:let (\w+)|const (\w+)[^=\n]*= new (?:WeakMap|WeakSet|Map|Set)\b)/gm;
  return [...source.matchAll(state)].flatMap(({ 1: variable, 2: collection, index }) => {
    const name = variable ?? collection!;
    const changes = variable !== undefined || new RegExp(`\\b${name}\\.(set|add|delete|clear)\\(`).test(source);
    if (!changes || Object.hasOwn(STATE_OF_MODULES, `${file} ${name}`)) return [];
    return [`${file}:${source.slice(0, index).split('\n').length}`];
  });
});

/** An id of a demand stands in brackets at the end: `a full batch goes at once [A12 A15]`. */
const idsFirst = files
  .filter((file) => file.endsWith('.test.ts'))
  .flatMap((file) =>
    testNames(read(file))
      .filter((name) => /^([A-EGH]\d{1,2}|Build \d+)\b/.test(name))
      .map(() => file),
  );

const COUNTS: Count[] = [
  { what: 'formatter switched off', most: 0, n: ignores.length, where: ignores },
  { what: 'lines of the longest file', most: 300, n: longest[0]!.n, where: [longest[0]!.file] },
  { what: 'folders with more than 20 files of code', most: 0, n: flat.length, where: flat },
  { what: 'comment lines wider than 100 (drawings)', most: 11, n: comments.length, where: comments },
  { what: 'lines wider than 120 (statements)', most: 840, n: 0, where: matching(/^.{121,}$/, code) },
  { what: 'lines of SQL with a clause behind another', most: 25, n: 0, where: crowded },
  { what: 'state of a module that changes, without a reason', most: 0, n: 0, where: hidden },
  {
    what: 'references to documents that are not here',
    most: 0,
    n: 0,
    where: matching(
      /DESIGN\b|(?<!internals\/)store\.md|temporal\.md|style\.md|spec\/|\([A-H]\d{1,2}(, [A-H]\d{1,2})*\)/,
      [...product, ...statements],
    ),
  },
  { what: 'names of tests that begin with an id', most: 0, n: idsFirst.length, where: idsFirst },
  { what: 'columns of the widest line', most: 200, n: widest.n, where: [widest.place] },
  { what: 'paths named in documents that are not here', most: 0, n: 0, where: lost },
  phrase('one X a Y', ONE_X_A_Y, 0),
  phrase('anybody, everybody', /\b(any|every)body\b/i, 0),
  phrase('till', /\btill\b/i, 1),
  phrase('nobody', /\bnobody\b/i, 7),
  phrase('somebody', /\bsomebody\b/i, 1),
  phrase('whoever', /\bwhoever\b/i, 1),
  phrase('of its own', /\bof its own\b/i, 3),
  phrase('is over', /\bis over\b/i, 0),
  phrase('for ever', /\bfor ever\b/i, 0),
  phrase('worth a look', /\bworth a look\b/i, 0),
  phrase('Answers ...', /\* Answers\b|\. Answers\b/, 0),
].map((count) => ({ ...count, n: count.n || count.where.length }));

/** The places in the files that were edited last first: there stands what has just been added. */
const latest = (where: readonly string[]): string[] => {
  const editedAt = (place: string): number => statSync(path.join(ROOT, place.split(/[: ]/)[0]!)).mtimeMs;
  return [...where].sort((a, b) => editedAt(b) - editedAt(a));
};

const show = process.argv.includes('--where');
for (const { what, most, n, where } of COUNTS) {
  const isOver = n > most;
  process.stdout.write(`${isOver ? 'OVER' : 'ok  '} ${String(n).padStart(6)} of at most ${most}: ${what}\n`);
  if (!isOver && !show) continue;
  for (const place of latest(where).slice(0, show ? 1_000 : 10)) process.stdout.write(`       ${place}\n`);
}
if (COUNTS.some(({ n, most }) => n > most)) {
  process.stdout.write(
    'Shorten or reword what you added; the places in files edited last stand first. No limit is raised.\n',
  );
  process.exitCode = 1;
}
