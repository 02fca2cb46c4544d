const { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { COLLECTED_IN, ROOT } = require('./times');

const KEPT = path.join(__dirname, 'seconds.json');
const SHOWN = 20;

const seconds = (ms) => (ms / 1_000).toFixed(1).padStart(7);
const total = (times, key) => times.reduce((sum, one) => sum + one[key], 0);
const row = ({ load, hooks, tests, cpu }, name) => [load, hooks, tests, cpu].map(seconds).join('') + `  ${name}`;
const wall = ({ load, hooks, tests }) => load + hooks + tests;

/**
 * `npm run test:times`: prints, after the run, where the time of the longest files went, and keeps
 * in seconds.json how long each took, for the order of later runs.
 */
class TimesReporter {
  constructor() {
    this.folder = mkdtempSync(path.join(tmpdir(), 'muster-times-'));
    process.env[COLLECTED_IN] = path.join(this.folder, 'times.ndjson');
    writeFileSync(process.env[COLLECTED_IN], '');
  }

  onRunComplete() {
    const lines = readFileSync(process.env[COLLECTED_IN], 'utf8').split('\n').filter(Boolean);
    // Not those of a jest that a test runs elsewhere.
    const all = lines.map((line) => JSON.parse(line)).filter(({ file }) => file.startsWith('test/'));
    const times = all.sort((a, b) => wall(b) - wall(a));
    rmSync(this.folder, { recursive: true });
    const sums = Object.fromEntries(['load', 'hooks', 'tests', 'cpu'].map((key) => [key, total(times, key)]));
    const head = ['load', 'hooks', 'tests', 'cpu'].map((name) => name.padStart(7)).join('') + '  seconds';
    const rows = times.slice(0, SHOWN).map((one) => row(one, one.file));
    process.stderr.write(`\n${[head, ...rows, row(sums, `all ${times.length} files`)].join('\n')}\n`);
    keep(times);
  }
}

/** Replaces the seconds of the files that ran, and drops files that are gone. */
const keep = (times) => {
  const before = Object.entries(JSON.parse(readFileSync(KEPT, 'utf8')));
  const kept = Object.fromEntries(before.filter(([file]) => existsSync(path.join(ROOT, file))));
  for (const one of times) kept[one.file] = Math.round(wall(one) / 1_000);
  const sorted = Object.entries(kept).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  writeFileSync(KEPT, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
};

module.exports = TimesReporter;
