// @ts-check
import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';
import importX from 'eslint-plugin-import-x';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

/**
 * Lint with type information. Layout is Prettier's. Single-line `if`s, and `!` after a check that
 * the compiler cannot follow (noUncheckedIndexedAccess), are this code's idiom: no rule here speaks
 * of them.
 */

const PRODUCT = ['workflows', 'handlers', 'activities', 'postgres', 'workers', 'client'];
/** What activities and client may use of workflows: no workflow's own code. */
const SHARED_BY_WORKFLOWS = [
  './planning',
  './contracts.ts',
  './contracts',
  './definitions.ts',
  './naming.ts',
  './wake.ts',
  './behind.ts',
];

/**
 * The import directions of DESIGN section 3, by resolved path; test/project/imports.test.ts checks
 * them again without eslint.
 */
const DIRECTIONS = [
  {
    target: './workflows/planning',
    from: './',
    except: ['./workflows/planning'],
    message: 'Planning is pure and imports only itself.',
  },
  {
    target: './workflows',
    from: ['./postgres', './client'],
    message: 'A workflow neither stores nor submits; activities do.',
  },
  {
    target: './postgres',
    from: './workflows',
    except: ['./planning', './contracts.ts', './contracts'],
    message: 'Postgres uses planning and contracts.',
  },
  {
    target: './postgres',
    from: './handlers',
    except: ['./types.ts'],
    message: 'Postgres uses the types of handlers/types only.',
  },
  {
    target: './postgres',
    from: './activities',
    message: 'Postgres does not know who calls it.',
  },
  { target: './postgres', from: './client', message: 'Postgres does not know who calls it.' },
  {
    target: ['./activities', './client'],
    from: './workflows',
    except: SHARED_BY_WORKFLOWS,
    message: 'Of workflows, only planning, contracts, definitions, naming, wake and behind are shared.',
  },
  {
    target: ['./activities/*.ts', './activities/!(grouping)/**', './activities/grouping/!(workflowTasks).ts'],
    from: './client',
    message: 'Activities do not use the client (grouping/workflowTasks.ts, which submits for a workflow, may).',
  },
  {
    target: './activities/grouping/workflowTasks.ts',
    from: './client',
    except: ['./tasks/accept.ts', './tasks/checkTasks.ts', './tasks/ringer.ts'],
    message: 'Submitting for a workflow shares client/tasks/accept, checkTasks and ringer only.',
  },
  {
    target: './handlers',
    from: ['./activities', './postgres', './client', './workers'],
    message: 'Handlers and functions are a leaf that all may import.',
  },
  {
    target: './handlers',
    from: './workflows',
    except: ['./planning'],
    message: 'Handlers and functions are a leaf that all may import: of workflows they use planning only.',
  },
  {
    target: ['./client/!(client|index).ts', './client/!(operations)/**', './client/operations/!(complete).ts'],
    from: './activities',
    message: 'Only client/operations/complete.ts, which settles a batch, shares code with activities.',
  },
  {
    target: ['./client/@(client|index).ts', './client/operations/complete.ts'],
    from: './activities',
    except: ['./accepted/complete.ts', './accepted/completion.ts'],
    message:
      'A completion is settled by the same code wherever it comes from: client/operations/complete.ts shares it.',
  },
  {
    target: ['./workflows', './handlers', './postgres', './activities', './client/*.ts', './client/!(cli)/**'],
    from: './workers',
    message: 'Only client/cli starts workers.',
  },
  { target: './workers', from: './client/cli', message: 'The command line starts workers, not the other way round.' },
  {
    target: PRODUCT.map((folder) => `./${folder}`),
    from: ['./test', './examples'],
    message: 'Tests and examples import the program, never the other way round.',
  },
];

const SANDBOX =
  'Workflow code runs in a deterministic sandbox: values only from @temporalio/workflow and @temporalio/common';

/**
 * @param {string[]} files @param {{ regex: string, message: string, allowTypeImports?: boolean }[]}
 * patterns @param {string[]} [ignores]
 */
const restrictImports = (files, patterns, ignores = []) => ({
  files,
  ignores,
  rules: { '@typescript-eslint/no-restricted-imports': /** @type {const} */ (['error', { patterns }]) },
});

export default defineConfig(
  globalIgnores(['dist/', 'coverage/', '.muster/', 'test/replay/histories/']),
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-var': 'error',
      'prefer-const': 'error',
      'no-self-compare': 'error',
      'no-throw-literal': 'error',
      // A file is one noun, a function one thought: readers gave up on larger ones (the reasons are
      // in the README's rules).
      'max-lines': ['error', { max: 300 }],
    },
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    plugins: { 'import-x': importX },
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    settings: {
      'import-x/resolver-next': [createTypeScriptImportResolver({ project: './tsconfig.json' })],
      // Without these two, no-cycle looks into no .ts file and is silent.
      'import-x/extensions': ['.ts'],
      'import-x/parsers': { '@typescript-eslint/parser': ['.ts'] },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': ['error', { checkThenables: true }],
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'import-x/no-cycle': 'error',
      'import-x/no-self-import': 'error',
      'import-x/no-duplicates': ['error', { 'prefer-inline': false }],
      // `async` without await turns a throw into a rejection, which is why it is written.
      '@typescript-eslint/require-await': 'off',
      // What is shown of an unknown value in a message is chosen by hand; gRPC codes are compared
      // as the numbers that they are.
      '@typescript-eslint/no-base-to-string': 'off',
      '@typescript-eslint/no-unsafe-enum-comparison': 'off',
      // Our interfaces of functions are written as methods and have no `this`.
      '@typescript-eslint/unbound-method': 'off',
      // A caught failure is kept as `unknown` and thrown again as it came; literals are caught by
      // no-throw-literal.
      '@typescript-eslint/only-throw-error': 'off',
      // `import x = require('x')`: a CommonJS module whose export is a function or an array.
      '@typescript-eslint/no-require-imports': ['error', { allowAsImport: true }],
      'import-x/no-restricted-paths': ['error', { basePath: import.meta.dirname, zones: DIRECTIONS }],
    },
  },
  {
    files: PRODUCT.map((folder) => `${folder}/**/*.ts`),
    rules: { 'max-lines-per-function': ['error', { max: 70, skipComments: true }] },
  },
  {
    // expect.any() and friends are `any`; tests also throw what a program should not.
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
  restrictImports(
    ['workflows/**/*.ts'],
    [
      {
        regex: '^(?:\\.\\./)+(?:activities|handlers)(?:/|$)',
        allowTypeImports: true,
        message: 'A workflow sees the types of activities only: `import type`.',
      },
      { regex: '^(?!\\.|@temporalio/(?:workflow|common)$)', allowTypeImports: true, message: `${SANDBOX}.` },
      {
        regex: '^\\./contracts(?:/|$)',
        allowTypeImports: true,
        message: `${SANDBOX}; contracts.ts brings zod: import its types.`,
      },
    ],
    ['workflows/contracts.ts', 'workflows/contracts/**', 'workflows/planning/**'],
  ),
  restrictImports(
    ['workflows/planning/**/*.ts'],
    [{ regex: '^(?!\\./)', message: 'Planning is pure and imports only itself.' }],
  ),
  // A folder in it may go up to it, and no further.
  restrictImports(
    ['workflows/planning/*/**/*.ts'],
    [{ regex: '^(?!\\./|\\.\\./[a-zA-Z])', message: 'Planning is pure and imports only itself.' }],
  ),
  restrictImports(
    ['workflows/contracts.ts'],
    [{ regex: '^(?!zod$|\\./planning/)', message: 'Contracts are zod schemas over planning, nothing else.' }],
  ),
  restrictImports(
    ['workflows/contracts/*.ts'],
    [{ regex: '^(?!zod$|\\./|\\.\\./planning/)', message: 'Contracts are zod schemas over planning, nothing else.' }],
  ),
  restrictImports(
    ['postgres/**/*.ts'],
    [{ regex: '^(?:\\.\\./)+handlers/', allowTypeImports: true, message: 'Postgres uses the types of handlers only.' }],
  ),
  {
    files: ['{workflows,handlers,activities,postgres,workers,client}/**/*.ts'],
    ignores: ['workers/config/config.ts', 'workers/embedded/paths.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'Only workers/config/config.ts reads the environment; pass the value in.',
        },
      ],
    },
  },
);
