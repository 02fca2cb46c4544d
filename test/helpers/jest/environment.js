const { TestEnvironment } = require('jest-environment-node');
const { runMuster } = require('./commandLine');
const { letGo } = require('./promiseStorage');
const { timesOf } = require('./times');

/**
 * Node's environment, which also runs the command line (`test/cli/process.ts`), and measures a file
 * where times are asked for (`npm run test:times`).
 */
class Environment extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.times = timesOf(context.testPath);
    this.global.runMuster = runMuster;
  }

  handleTestEvent(event) {
    this.times?.see(event);
  }

  async teardown() {
    this.times?.write();
    await super.teardown();
    letGo();
  }
}

module.exports = Environment;
