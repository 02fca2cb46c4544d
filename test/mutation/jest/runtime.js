const SharedModules = require('../../helpers/jest/sharedModules');
const { trial } = require('./trial');

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
}

module.exports = TrialRuntime;
