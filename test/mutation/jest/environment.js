const Environment = require('../../helpers/jest/environment');
const { trial, fail } = require('./trial');

const nameOf = (test) => {
  const names = [];
  for (let at = test; at.parent !== undefined; at = at.parent) names.unshift(at.name);
  return names.join(' > ');
};

/** Runs the chosen tests of a file up to the first that fails, and says which test is running. */
class TrialEnvironment extends Environment {
  handleTestEvent(event) {
    super.handleTestEvent(event);
    if (event.name === 'test_start') {
      const name = nameOf(event.test);
      trial.running = name;
      this.since = performance.now();
      if (trial.hasFailed || (trial.only !== null && !trial.only.has(name))) event.test.mode = 'skip';
    } else if (event.name === 'test_done') {
      trial.times.set(trial.running, (trial.times.get(trial.running) ?? 0) + performance.now() - this.since);
      trial.running = undefined;
      if (event.test.errors.length > 0) fail([event.test.errors[0]].flat()[0]);
    } else if (event.name === 'test_skip') trial.running = undefined;
    else if (event.name === 'hook_failure' || event.name === 'error') fail(event.error);
  }
}

module.exports = TrialEnvironment;
