const path = require('node:path');
const { default: Sequencer } = require('@jest/test-sequencer');
const kept = require('./seconds.json');
const { ROOT } = require('./times');

/**
 * Starts the longest files first, on a fresh clone too, where jest has no times of its own: a long
 * file that begins last is waited for by idle processes. A file without a time comes before all.
 */
class LongestFirst extends Sequencer {
  time(test) {
    const seconds = kept[path.relative(ROOT, test.path)];
    return super.time(test) ?? (seconds === undefined ? undefined : seconds * 1_000);
  }
}

module.exports = LongestFirst;
