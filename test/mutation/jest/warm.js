const path = require('node:path');
const { transformSync } = require('@swc/core');
const { default: TestRunner } = require('jest-runner');
const { default: Runtime } = require('jest-runtime');
const TYPESCRIPT = require('../../helpers/jest/typescript');
const { trial, begin, fail } = require('./trial');

/**
 * A process that runs test files again and again, one at a time, each time with other code in place
 * of some files: what jest needs is loaded once. Its parent (`warmJest.ts`) ends it where code does
 * not end.
 */

process.env.QUEUER_RUNS ??= '1000'; // of test/planning/lanes/model.properties.test.ts: a tenth

const compile = (file, text) => transformSync(text, { filename: file, ...TYPESCRIPT }).code;

const start = async ({ globalConfig, config }) => {
  const trialConfig = {
    ...config,
    silent: true,
    runtime: path.join(__dirname, 'runtime.js'),
    testEnvironment: path.join(__dirname, 'environment.js'),
  };
  const context = await Runtime.createContext(trialConfig, { console, maxWorkers: 1, watch: false, watchman: false });
  const runner = new TestRunner({ ...globalConfig, silent: true, ci: true, updateSnapshot: 'none' }, {});
  runner.on('test-file-success', ([, result]) => {
    if (result.testExecError !== undefined) fail(result.testExecError);
    else if (result.numFailingTests > 0) fail(result.failureMessage);
  });
  runner.on('test-file-failure', ([, error]) => fail(error));

  const runFile = async (file, only) => {
    const since = performance.now();
    await runner.runTests([{ path: file, context }], { isInterrupted: () => false }, { serial: true });
    return {
      hasFailed: trial.hasFailed,
      failure: trial.failure?.slice(0, 2_000),
      ms: performance.now() - since,
      hits: [...trial.hits].map(([test, spots]) => ({ test, spots: [...spots], ms: trial.times.get(test) ?? 0 })),
      testsMs: [...trial.times.values()].reduce((sum, one) => sum + one, 0),
      rssBytes: process.memoryUsage.rss(),
      only,
    };
  };
  return async ({ swaps, file, only }) => {
    let swapped;
    try {
      swapped = new Map(swaps.map((one) => [one.file, compile(one.file, one.text)]));
    } catch (error) {
      return { hasFailed: false, isInvalid: true, failure: String(error), ms: 0, testsMs: 0, hits: [], rssBytes: 0 };
    }
    begin({ swapped, only: only === null ? null : new Set(only) });
    return runFile(file, only);
  };
};

let ready;
process.on('message', (message) => {
  if (message.jest !== undefined) {
    ready = start(message.jest);
    ready.then(
      () => process.send({ started: true }),
      (error) => process.send({ error: String(error?.stack ?? error) }),
    );
    return;
  }
  ready
    .then((run) => run(message))
    .then(
      (result) => process.send(result),
      (error) => process.send({ error: String(error?.stack ?? error) }),
    );
});
// A mutant's rejection that no test waits for is the mutant's, not this process's end.
process.on('unhandledRejection', (error) => fail(error));
process.on('disconnect', () => process.exit());
