const { ModuleMocker } = require('jest-mock');
const { globalsOfPackages } = require('./packages');
const { timesOf } = require('./times');

/**
 * Runs a test file in the process's own context, beside `./runtime.js`, and puts back afterwards
 * what the file could leave to the next one: globals, environment, exit code, working directory,
 * and Temporal's runtime, which is one per process.
 */
class OwnContextEnvironment {
  constructor(_config, { testPath }) {
    this.times = timesOf(testPath);
    this.global = globalThis;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimers = null; // of neither kind: tests here wait in real time
    this.fakeTimersModern = null;
    this.putBack = [keepGlobals(), keepEnvironment(), keepProcess(), keepErrors()];
  }

  async setup() {}
  handleTestEvent(event) {
    this.times?.see(event);
  }

  async teardown() {
    this.times?.write();
    await endTemporalRuntime();
    for (const filename of Object.keys(require.cache)) if (filename.endsWith('.ts')) delete require.cache[filename];
    for (const putBack of this.putBack) putBack();
  }

  /** Is never compiled for: see `compileHere` of ./runtime.js. */
  getVmContext() {
    return null;
  }
  exportConditions() {
    return ['node', 'node-addons'];
  }
}

const keepGlobals = () => {
  const before = Object.getOwnPropertyDescriptors(globalThis);
  return () => {
    for (const key of Reflect.ownKeys(globalThis)) {
      const was = before[key];
      const is = Object.getOwnPropertyDescriptor(globalThis, key);
      if (!is.configurable || globalsOfPackages.has(key)) continue;
      if (was === undefined) delete globalThis[key];
      else if (!Object.is(was.value, is.value) || was.get !== is.get) Object.defineProperty(globalThis, key, was);
    }
  };
};

const keepEnvironment = () => {
  const before = { ...process.env };
  return () => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  };
};

const keepProcess = () => {
  const { exit, exitCode } = process;
  const folder = process.cwd();
  return () => {
    process.exit = exit; // jest wraps it per file
    process.exitCode = exitCode;
    process.chdir(folder);
  };
};

const keepErrors = () => {
  const { prepareStackTrace, stackTraceLimit } = Error;
  return () => Object.assign(Error, { prepareStackTrace, stackTraceLimit });
};

/** Lets the next file install its own, and start from the SDK's defaults. */
const endTemporalRuntime = async () => {
  const loaded = require.cache[require.resolve('@temporalio/worker')];
  if (loaded === undefined) return;
  const { Runtime } = loaded.exports;
  await Runtime._instance?.shutdown();
  Runtime.defaultOptions = {};
};

module.exports = OwnContextEnvironment;
