/** `npm run test:unit`: the tests that need no server, in under a minute. They run in `npm test`, too. */
const { globalSetup, globalTeardown, ...base } = require('./jest.config.js');

module.exports = {
  ...base,
  testPathIgnorePatterns: ['/node_modules/', 'handlers/http/httpOrder'], // which has lanes
  testMatch: [
    '<rootDir>/test/{planning,handlers}/**/*.test.ts',
    '<rootDir>/test/project/{supply,deployment}/*.test.ts',
    '<rootDir>/test/project/{constants,demands,follow/follow,helpTexts,imports,nouns,references,references/listOptions,requests,site,sqlStates,tests/usualTemporal}.test.ts',
  ],
};
