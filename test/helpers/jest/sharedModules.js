const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');
const { transformSync } = require('@swc/core');
const { default: Runtime } = require('jest-runtime');
const TYPESCRIPT = require('./typescript');

/** A package that is given a path loads it as Node does: Temporal's SDK its payload converter. */
require.extensions['.ts'] = (module, filename) =>
  module._compile(transformSync(readFileSync(filename, 'utf8'), { filename, ...TYPESCRIPT }).code, filename);

/** Loads modules of packages as Node does, once per process instead of once per file. */
class SharedModules extends Runtime {
  requireModuleOrMock(from, moduleName) {
    const shared = sharedPath(from, moduleName);
    return shared === null ? super.requireModuleOrMock(from, moduleName) : require(shared);
  }
}

/** Ends what the SDK keeps once per process, where a file left it: the next one installs its own. */
const forgetRuntime = async () => {
  const sdk = require.cache[require.resolve('@temporalio/worker')];
  if (sdk === undefined) return;
  const { Runtime: sdkRuntime } = sdk.exports;
  await sdkRuntime._instance?.shutdown();
  sdkRuntime.defaultOptions = {};
};

const PACKAGES = `${path.sep}node_modules${path.sep}`;
const sharedPath = (from, moduleName) => {
  if (moduleName === '@jest/globals' || /^(node:|\.)/.test(moduleName)) return null;
  try {
    const found = createRequire(from).resolve(moduleName);
    return found.includes(PACKAGES) ? found : null;
  } catch {
    return null;
  }
};

module.exports = Object.assign(SharedModules, { forgetRuntime });
