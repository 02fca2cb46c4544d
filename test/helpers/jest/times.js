const { appendFileSync } = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..', '..');
/** Set by the reporter, whose environment the worker processes inherit: where times are collected. */
const COLLECTED_IN = 'MUSTER_TEST_TIMES_FILE';

const PHASE_BEGUN_BY = { hook_start: 'hooks', test_fn_start: 'tests' };
const PHASE_ENDED_BY = new Set(['hook_success', 'hook_failure', 'test_fn_success', 'test_fn_failure']);

/** Measures one test file: loading, hooks and tests, and CPU, the process's threads included. */
class FileTimes {
  constructor(file, collectedIn) {
    this.collectedIn = collectedIn;
    this.file = path.relative(ROOT, file);
    this.ms = { load: 0, hooks: 0, tests: 0 };
    this.cpu = process.cpuUsage();
    this.begin('load');
  }

  begin(phase) {
    [this.phase, this.since] = [phase, performance.now()];
  }
  end() {
    if (this.phase === null) return;
    this.ms[this.phase] += performance.now() - this.since;
    this.phase = null;
  }

  /** Follows jest-circus. */
  see({ name }) {
    if (name === 'run_start' || PHASE_ENDED_BY.has(name)) this.end();
    else if (name in PHASE_BEGUN_BY) this.begin(PHASE_BEGUN_BY[name]);
  }

  write() {
    this.end();
    const { user, system } = process.cpuUsage(this.cpu);
    appendFileSync(
      this.collectedIn,
      `${JSON.stringify({ file: this.file, ...this.ms, cpu: (user + system) / 1_000 })}\n`,
    );
  }
}

/** Returns the times of a file; null where the reporter is off. */
const timesOf = (file) => {
  const collectedIn = process.env[COLLECTED_IN];
  return collectedIn === undefined ? null : new FileTimes(file, collectedIn);
};

module.exports = { ROOT, COLLECTED_IN, timesOf };
