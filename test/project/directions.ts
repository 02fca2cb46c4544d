import type { Import } from './importScan';

/**
 * The import directions of the README's layout, written out without eslint: what each folder may
 * import, by value and by type.
 */

const PURE_PACKAGES = ['@temporalio/workflow', '@temporalio/common'];
/**
 * Of workflows, what activities and client may use: names, messages, wakes, contracts and pure
 * decisions, no workflow.
 */
const SHARED = /^workflows\/(planning\/.*|contracts|contracts\/.*|definitions|naming|wake|behind)$/;
const HANDLERS = /^handlers(\/.*)?$/;

type Rule = (one: Import) => boolean;
const inside =
  (folder: string): Rule =>
  ({ to }) =>
    to === folder || to.startsWith(`${folder}/`);
const matches =
  (pattern: RegExp): Rule =>
  ({ to }) =>
    pattern.test(to);

const sandbox: Rule = ({ to, isPackage, isTypeOnly }) =>
  isTypeOnly
    ? isPackage || to.startsWith('workflows/') || /^(activities|handlers)(\/|$)/.test(to)
    : isPackage
      ? PURE_PACKAGES.includes(to)
      : to.startsWith('workflows/') && !/^workflows\/contracts(\/|$)/.test(to);

const anyPackage: Rule = ({ isPackage }) => isPackage;
const anyOf =
  (...rules: Rule[]): Rule =>
  (one) =>
    rules.some((rule) => rule(one));

const postgres: Rule = anyOf(
  anyPackage,
  inside('postgres'),
  matches(/^workflows\/(planning\/.*|contracts|contracts\/.*)$/),
  (one) => one.isTypeOnly && one.to === 'handlers/types',
);
const handlers: Rule = anyOf(anyPackage, matches(HANDLERS), inside('workflows/planning'));
const activities: Rule = anyOf(
  anyPackage,
  inside('activities'),
  inside('postgres'),
  matches(SHARED),
  matches(HANDLERS),
);
const client: Rule = anyOf(anyPackage, inside('client'), inside('postgres'), matches(SHARED), matches(HANDLERS));

/** The first entry that names a file's place says what it may import. */
const ALLOWED: readonly (readonly [place: RegExp, may: string, rule: Rule])[] = [
  [/^workflows\/planning\//, 'planning only', inside('workflows/planning')],
  [/^workflows\/contracts\.ts$/, 'zod and planning', anyOf(({ to }) => to === 'zod', inside('workflows/planning'))],
  [
    /^workflows\/contracts\//,
    'zod, planning and one another',
    anyOf(({ to }) => to === 'zod', inside('workflows/planning'), inside('workflows/contracts')),
  ],
  [
    /^workflows\//,
    `workflows and planning, ${PURE_PACKAGES.join(', ')}; types of contracts, activities, packages`,
    sandbox,
  ],
  [/^postgres\//, 'planning, contracts, the types of handlers/types', postgres],
  [/^handlers\//, 'handlers and planning', handlers],
  [
    /^activities\/grouping\/workflowTasks\.ts$/,
    'what activities may, and client/tasks/accept, checkTasks, ringer',
    anyOf(activities, matches(/^client\/tasks\/(accept|checkTasks|ringer)$/)),
  ],
  [/^activities\//, 'postgres, and of workflows planning, contracts, definitions, naming, wake, behind', activities],
  [/^client\/cli\//, 'what the client may, and workers', anyOf(client, inside('workers'))],
  [
    /^client\/(operations\/complete|client|index)\.ts$/,
    'what the client may, activities/accepted/completion, and client/operations/complete.ts activities/accepted/complete',
    (one) =>
      client(one) ||
      one.to === 'activities/accepted/completion' ||
      (one.from === 'client/operations/complete.ts' && one.to === 'activities/accepted/complete'),
  ],
  [/^client\//, 'postgres, handlers, and of workflows planning, contracts, definitions, naming, wake, behind', client],
  [
    /^workers\//,
    'everything but client/cli, tests and examples',
    (one) => one.isPackage || !/^(client\/cli|test|examples)\b/.test(one.to),
  ],
];

/**
 * Why an import goes the wrong way, or null. Files outside the program (tests, examples) may import
 * anything.
 */
export const violation = (one: Import): string | null => {
  const allowed = ALLOWED.find(([place]) => place.test(one.from));
  if (allowed === undefined || allowed[2](one)) return null;
  return `${one.from}:${one.line} imports ${one.isTypeOnly ? 'the type of ' : ''}${one.to}; it may import ${allowed[1]}`;
};
