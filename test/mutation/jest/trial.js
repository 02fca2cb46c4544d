/**
 * What the warm process, its environment and its runtime share: all three are loaded by Node, once
 * per process.
 */
const trial = {
  /** JavaScript in place of what a file has, by its path. */
  swapped: new Map(),
  /** Names of the tests to run; null: all of the file. */
  only: null,
  /** The test that runs; undefined: the file is loaded, or a hook runs. */
  running: undefined,
  hasFailed: false,
  failure: undefined,
  /** Spots that were executed, by the test that did; '' stands for load and hooks. */
  hits: new Map(),
  /** How long each test took. */
  times: new Map(),
};

const begin = ({ swapped, only }) => {
  const blank = { running: undefined, hasFailed: false, failure: undefined, hits: new Map(), times: new Map() };
  Object.assign(trial, blank, { swapped, only });
};

/** Called by instrumented code (`coverage.ts`). */
globalThis.mutantHit = (spot) => {
  const name = trial.running ?? '';
  const hits = trial.hits.get(name);
  if (hits === undefined) trial.hits.set(name, new Set([spot]));
  else hits.add(spot);
};

const fail = (error) => {
  trial.hasFailed = true;
  trial.failure ??= String(error?.message ?? error);
};

module.exports = { trial, begin, fail };
