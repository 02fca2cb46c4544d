const { createRequire, isBuiltin } = require('node:module');

/** Names that packages have set on `globalThis`: their state, which lives as long as they do. */
const globalsOfPackages = new Set();

const isPackage = (name) => !/^[./]/.test(name) && !isBuiltin(name) && !/^(@jest\/|expect$)/.test(name);

/** Returns a package of Node's own cache. */
const requirePackage = (from, name) => {
  const known = new Set(Reflect.ownKeys(globalThis));
  try {
    return createRequire(from)(name);
  } finally {
    for (const key of Reflect.ownKeys(globalThis)) if (!known.has(key)) globalsOfPackages.add(key);
  }
};

module.exports = { globalsOfPackages, isPackage, requirePackage };
