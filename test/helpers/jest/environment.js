const { TestEnvironment } = require('jest-environment-node');
const { runMuster } = require('./commandLine');
const { HERE, keepGlobals } = require('./oneContext');
const { letGo } = require('./promiseStorage');
const { forgetRuntime } = require('./sharedModules');
const { nameWhatKeepsAlive } = require('./lateExit');
const { timesOf } = require('./times');
const { reuseThreads } = require('./workflowThreads');

/**
 * Node's environment, which also runs the command line (`test/cli/process.ts`), and measures a file
 * where times are asked for (`npm run test:times`).
 */
class Environment extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    nameWhatKeepsAlive();
    this.putBack = keepGlobals();
    this.global = globalThis;
    this.times = timesOf(context.testPath);
    this.global.runMuster = runMuster;
  }

  getVmContext() {
    return this.context === null ? null : HERE;
  }

  handleTestEvent(event) {
    if (event.name === 'run_start') reuseThreads();
    this.times?.see(event);
  }

  async teardown() {
    this.times?.write();
    await super.teardown();
    await forgetRuntime();
    this.putBack();
    letGo();
  }
}

module.exports = Environment;
