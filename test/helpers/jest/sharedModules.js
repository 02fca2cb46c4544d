const { createRequire } = require('node:module');
const path = require('node:path');
const { default: Runtime } = require('jest-runtime');

/** The runtime of the file that runs: TypeScript is transformed by its transformer, with jest's cache. */
let current;
/** By file: where its source map is, for the stacks of every later file, too. */
const sourceMaps = new Map();
const transformed = (filename) => {
  const { transformCache } = current;
  const code = transformCache.transform(filename);
  const map = transformCache.getSourceMaps().get(filename);
  if (map !== undefined) sourceMaps.set(filename, map);
  return code;
};
/** The product's modules, and what a package is given a path of: Temporal's SDK its payload converter. */
require.extensions['.ts'] = (module, filename) => module._compile(transformed(filename), filename);

/**
 * Loads packages and the product's own modules as Node does, once per process instead of once per
 * file: loading them was what most files cost. The product keeps nothing in a module, so files do
 * not see each other; only what is below `test/` is each file's own.
 */
class SharedModules extends Runtime {
  constructor(...args) {
    super(...args);
    current = this;
    for (const [file, map] of sourceMaps) this.getSourceMaps().set(file, map);
  }

  requireModuleOrMock(from, moduleName) {
    const shared = this.sharedPath(from, moduleName);
    return shared === null ? super.requireModuleOrMock(from, moduleName) : require(shared);
  }

  /** Whether the product's modules are shared, too. */
  get sharesProduct() {
    return true;
  }

  sharedPath(from, moduleName) {
    if (moduleName === '@jest/globals' || moduleName.startsWith('node:')) return null;
    if (moduleName.startsWith('.') && !this.sharesProduct) return null;
    const found = resolved(from, moduleName);
    return found !== null && (found.includes(PACKAGES) || isOfProduct(found)) ? found : null;
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
const ROOT = path.join(__dirname, '..', '..', '..');
const PRODUCT = ['activities', 'client', 'handlers', 'postgres', 'workers', 'workflows'];
const isOfProduct = (file) => PRODUCT.includes(path.relative(ROOT, file).split(path.sep)[0]);

const resolvers = new Map();
const resolved = (from, moduleName) => {
  const folder = path.dirname(from);
  if (!resolvers.has(folder)) resolvers.set(folder, createRequire(from));
  try {
    return resolvers.get(folder).resolve(moduleName);
  } catch {
    return null;
  }
};

module.exports = Object.assign(SharedModules, { forgetRuntime });
