const decorators = {
  jsc: { parser: { syntax: 'typescript', decorators: true }, transform: { legacyDecorator: true } },
};

module.exports = {
  transform: { '^.+\\.ts$': ['@swc/jest', decorators] },
  testMatch: ['**/*.spec.ts'],
  testTimeout: 120_000, // servers are started
};
