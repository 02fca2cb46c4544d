// @ts-check
import importX from 'eslint-plugin-import-x';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

/**
 * Lint with type information. Layout is Prettier's, what may import what is .dependency-cruiser.cjs's. Single-line `if`s, and `!` after a check that the compiler cannot follow
 * (noUncheckedIndexedAccess), are this code's idiom: no rule here speaks of them.
 */

const PRODUCT = ['workflows', 'handlers', 'activities', 'postgres', 'workers', 'client'];
export default defineConfig(
  globalIgnores([
    '**/dist/',
    'coverage/',
    '.muster/',
    'site/.cache/',
    'test/replay/histories/',
    'examples/nestjs/',
    'test/libraries/adapters.libraries.ts',
    'test/libraries/generated/',
    'test/bench/peers/sides/',
    'test/userProjects/*/',
  ]),
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-var': 'error',
      'prefer-const': 'error',
      'no-self-compare': 'error',
      'no-throw-literal': 'error',
      // A file is one noun, a function one thought: readers gave up on larger ones (docs/internals/conventions.md).
      'max-lines': ['error', { max: 300 }],
    },
  },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.recommendedTypeChecked],
    plugins: { 'import-x': importX },
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': ['error', { checkThenables: true }],
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'import-x/no-duplicates': ['error', { 'prefer-inline': false }],
      // `async` without await turns a throw into a rejection, which is why it is written.
      '@typescript-eslint/require-await': 'off',
      // What is shown of an unknown value in a message is chosen by hand; gRPC codes are compared as the numbers that they are.
      '@typescript-eslint/no-base-to-string': 'off',
      '@typescript-eslint/no-unsafe-enum-comparison': 'off',
      // Our interfaces of functions are written as methods and have no `this`.
      '@typescript-eslint/unbound-method': 'off',
      // A caught failure is kept as `unknown` and thrown again as it came; literals are caught by no-throw-literal.
      '@typescript-eslint/only-throw-error': 'off',
      // `import x = require('x')`: a CommonJS module whose export is a function or an array.
      '@typescript-eslint/no-require-imports': ['error', { allowAsImport: true }],
    },
  },
  {
    // The page of the dashboard runs in a browser: it has a project of its own, with the types of one.
    files: ['workers/dashboard/**/*.{ts,tsx}'],
    languageOptions: { parserOptions: { project: './workers/dashboard/tsconfig.json' } },
  },
  {
    files: PRODUCT.map((folder) => `${folder}/**/*.{ts,tsx}`),
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
  {
    files: ['{workflows,handlers,activities,postgres,workers,client}/**/*.ts'],
    ignores: ['client/cli/main.ts', 'workers/embedded/paths.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'Only client/cli/main.ts reads the environment; pass the value in.',
        },
      ],
    },
  },
);
