const { readFileSync } = require('node:fs');
const { default: TestRunner } = require('jest-runner');

/** In the comment that a file begins with, or anywhere in its other comments. */
const ALONE = /^ ?\/?\*+ @alone\b/m;
const runsAlone = ({ path }) => ALONE.test(readFileSync(path, 'utf8'));

/**
 * Runs the files that are marked `@alone` after all others, one by one: what they measure is how
 * long something takes, and the processes of other files would be measured with it.
 */
class AloneLast extends TestRunner {
  async runTests(tests, watcher, options) {
    const alone = tests.filter(runsAlone);
    const together = tests.filter((test) => !alone.includes(test));
    if (together.length > 0) await super.runTests(together, watcher, options);
    if (alone.length > 0) await super.runTests(alone, watcher, { ...options, serial: true });
  }
}

module.exports = AloneLast;
