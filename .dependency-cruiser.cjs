/**
 * What may import what, types included (`npm run lint:imports`). Layers, each using only those above it:
 *
 *   workflows/planning   pure decisions
 *   handlers             the public kit for handlers and functions
 *   postgres             statements
 *   activities           what workflows call
 *   client               the library
 *   workers              processes
 *   client/cli           the command line
 *
 * `workflows` stands beside them: its code runs in Temporal's sandbox, sees planning, and of activities the types.
 * test/project/imports.test.ts plants a violation of each rule.
 */

/** Of workflows, what the layers use: names, messages, wakes and contracts, never a workflow's own code. */
const SHARED_BY_WORKFLOWS =
  '^workflows/(planning/|contracts/|messages\\.ts$|definitions\\.ts$|naming\\.ts$|wake\\.ts$|temporal/|behind\\.ts$|dashboardLinks\\.ts$)';
const CONTRACTS = '^workflows/contracts/';
const PRODUCT = '^(workflows|handlers|activities|postgres|client|workers)/';

const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });
const rulesOfLayers = [
  forbid(
    'planning-is-pure',
    'Planning imports only itself.',
    { path: '^workflows/planning/' },
    { pathNot: '^workflows/planning/' },
  ),
  forbid(
    'contracts-are-schemas',
    'Contracts are zod schemas over planning, nothing else.',
    { path: CONTRACTS },
    { pathNot: [CONTRACTS, '^workflows/planning/', 'node_modules/zod/'] },
  ),
  forbid(
    'workflow-values',
    'Workflow code runs in a sandbox: values only from workflows, @temporalio/workflow and @temporalio/common. contracts brings zod.',
    { path: '^workflows/', pathNot: [CONTRACTS, '^workflows/planning/'] },
    {
      pathNot: ['^workflows/(?!contracts/)', 'node_modules/@temporalio/(workflow|common)/'],
      dependencyTypesNot: ['type-only'],
    },
  ),
  forbid(
    'workflow-types',
    'A workflow neither stores nor submits: of this project it sees types of activities and handlers only.',
    { path: '^workflows/' },
    { path: '^(postgres|client|workers)/' },
  ),
  forbid(
    'handlers-are-a-leaf',
    'Handlers and functions are a leaf that all may import: they use planning only.',
    { path: '^handlers/' },
    { path: PRODUCT, pathNot: '^(handlers|workflows/planning)/' },
  ),
  forbid(
    'postgres-is-below',
    'Postgres uses planning, contracts and the types of handlers/types, and does not know who calls it.',
    { path: '^postgres/' },
    { path: PRODUCT, pathNot: ['^postgres/', '^workflows/planning/', CONTRACTS, '^handlers/'] },
  ),
  forbid(
    'postgres-sees-types-of-handlers',
    'Postgres uses the types of handlers/types only.',
    { path: '^postgres/' },
    { path: '^handlers/', dependencyTypesNot: ['type-only'] },
  ),
  forbid(
    'postgres-sees-handlers-types',
    'Postgres uses the types of handlers/types only.',
    { path: '^postgres/' },
    { path: '^handlers/', pathNot: '^handlers/(types|contract)\\.ts$' },
  ),
  forbid(
    'no-workflow-code',
    'Of workflows, only planning, contracts, messages, definitions, naming, wake, temporal and behind are shared.',
    { path: '^(activities|client)/' },
    { path: '^workflows/', pathNot: SHARED_BY_WORKFLOWS },
  ),
  forbid(
    'activities-below-client',
    'Activities do not know the client, nor the processes that run them.',
    { path: '^activities/' },
    { path: '^(client|workers)/' },
  ),
  forbid(
    'calls-below-lanes',
    'What goes through a call does not know lanes: what differs there is behind `Standing`.',
    { path: '^(activities|postgres|workflows/planning)/calls/' },
    { path: '^(activities|postgres|workflows/planning)/lanes/' },
  ),
  forbid(
    'client-below-workers',
    'Only client/cli starts workers.',
    { path: '^client/', pathNot: '^client/cli/' },
    { path: '^(workers|client/cli)/' },
  ),
  forbid(
    'workers-below-cli',
    'The command line starts workers, not the other way round.',
    { path: '^workers/' },
    { path: '^client/cli/' },
  ),
  forbid(
    'page-is-apart',
    'The dashboard runs in a browser: of this project it uses planning, and the types of contracts.',
    { path: '^workers/dashboard/' },
    { path: PRODUCT, pathNot: ['^workers/dashboard/', '^workflows/planning/', CONTRACTS] },
  ),
  forbid(
    'page-sees-types-of-contracts',
    'Values of contracts bring zod, which the page does not need.',
    { path: '^workers/dashboard/' },
    { path: CONTRACTS, dependencyTypesNot: ['type-only'] },
  ),
  forbid(
    'page-is-built',
    'The page is built from its sources; no program imports them.',
    { path: PRODUCT, pathNot: '^workers/dashboard/' },
    { path: '^workers/dashboard/' },
  ),
  forbid(
    'no-tests-in-product',
    'Tests and examples import the program, never the other way round.',
    { path: PRODUCT },
    { path: '^(test|examples)/' },
  ),
];

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    forbid('no-circles', 'Two files that import each other are one file, or need a third.', {}, { circular: true }),
    forbid('resolvable', 'The imported file or package is not there.', {}, { couldNotResolve: true }),
    ...rulesOfLayers,
  ],
  options: {
    // Types count: a circle of types costs a reader what a circle of values costs the program.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    // Projects of their own, and what is generated there.
    exclude: {
      path: '^(examples/nestjs/|test/(libraries/(generated/|adapters)|userProjects/[^/]+/|bench/peers/(sides|dist)/))',
    },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
