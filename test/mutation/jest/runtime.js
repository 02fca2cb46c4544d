const fastCheck = require('fast-check');
const SharedModules = require('../../helpers/jest/sharedModules');
const { trial } = require('./trial');

/** Above it, runs of a property find little more, and each survivor would cost all of them. */
const MOST_RUNS = 200;
const assert = (property, parameters = {}) => {
  const { numRuns = 100, seed } = parameters;
  // That a property fails is enough: the smallest example is not wanted.
  const fewer = seed === undefined ? { numRuns: Math.min(numRuns, MOST_RUNS) } : {};
  return fastCheck.assert(property, { ...parameters, ...fewer, endOnFailure: true });
};
const QUICK = { ...fastCheck, assert };
const QUICK_MODULE = { ...QUICK, __esModule: true, default: QUICK };

/** Loads the mutant in place of its file, which stays as it is. */
class TrialRuntime extends SharedModules {
  constructor(config, environment, resolver, transformer, ...rest) {
    const transform = transformer.transform.bind(transformer);
    transformer.transform = (filename, options, source) => {
      const code = trial.swapped.get(filename);
      return code === undefined
        ? transform(filename, options, source)
        : { code, originalCode: source, sourceMapPath: null };
    };
    super(config, environment, resolver, transformer, ...rest);
  }

  get sharesProduct() {
    return false;
  }

  requireModuleOrMock(from, moduleName) {
    return moduleName === 'fast-check' ? QUICK_MODULE : super.requireModuleOrMock(from, moduleName);
  }
}

module.exports = TrialRuntime;
