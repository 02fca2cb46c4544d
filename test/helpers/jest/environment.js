const { TestEnvironment } = require('jest-environment-node');
const { timesOf } = require('./times');

/** Node's environment, which also measures a file where times are asked for (`npm run test:times`). */
class TimedEnvironment extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.times = timesOf(context.testPath);
  }

  handleTestEvent(event) {
    this.times?.see(event);
  }

  async teardown() {
    this.times?.write();
    await super.teardown();
  }
}

module.exports = TimedEnvironment;
