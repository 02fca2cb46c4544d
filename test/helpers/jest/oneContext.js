const vm = require('node:vm');

/**
 * Runs test files in the process's own context instead of one context per file: jest's contexts ask
 * a proxy for each global name, and their built-in classes are others than those of modules that
 * files share (`sharedModules.js`).
 */
const HERE = Object.freeze({ context: 'of the process' });

const { compileFunction } = vm;
vm.compileFunction = (source, parameters, { parsingContext, ...options } = {}) =>
  compileFunction(source, parameters, parsingContext === HERE ? options : { ...options, parsingContext });

/** Returns what puts back the globals, and the environment variables, as they are now. */
const keepGlobals = () => {
  const globals = Object.getOwnPropertyDescriptors(globalThis);
  const [env, exit] = [{ ...process.env }, process.exit];
  return () => {
    for (const key of Reflect.ownKeys(globalThis))
      if (!Object.hasOwn(globals, key) && Reflect.getOwnPropertyDescriptor(globalThis, key).configurable)
        delete globalThis[key];
    for (const key of Reflect.ownKeys(globals)) {
      const [before, now] = [globals[key], Reflect.getOwnPropertyDescriptor(globalThis, key)];
      const isSame = now !== undefined && now.value === before.value && now.get === before.get;
      if (!isSame) Object.defineProperty(globalThis, key, before);
    }
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
    process.exit = exit;
  };
};

module.exports = { HERE, keepGlobals };
