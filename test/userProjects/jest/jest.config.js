module.exports = {
  transform: { '^.+\\.ts$': '@swc/jest' },
  testMatch: ['**/*.spec.ts'],
  testTimeout: 60_000, // servers are started
};
