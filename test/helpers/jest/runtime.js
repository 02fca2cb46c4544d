const Module = require('node:module');
const vm = require('node:vm');
const { default: JestRuntime } = require('jest-runtime');
const { isPackage, requirePackage } = require('./packages');

/**
 * Gives each test file its own copies of this repository's modules, and packages from Node's own
 * cache, so that a worker process of jest evaluates the 1,200 modules of `@temporalio/worker` once
 * and not once per file. All code runs in the process's own context (./environment.js): an `Error`
 * of a package, of Node and of a test is one class.
 */
class SharedPackagesRuntime extends JestRuntime {
  constructor(...args) {
    super(...args);
    this.executor.compile = compileHere;
    // A package that loads a module of this repository by path, such as Temporal a data converter,
    // gets the test file's copy. The environment empties Node's cache of it.
    Module._extensions['.ts'] = (module, filename) => {
      module.exports = this.requireModule(filename);
    };
  }

  requireModuleOrMock(from, name) {
    return isPackage(name) ? requirePackage(from, name) : super.requireModuleOrMock(from, name);
  }
}

/** Replaces jest's compile, which can compile for any context but the process's own. */
function compileHere(source, filename) {
  return vm.compileFunction(source, this.injectedModuleParameters, {
    filename,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
}

module.exports = SharedPackagesRuntime;
