import { ConfigError } from '../configError';
import type { Problem } from '../configError';
import { didYouMean } from '../suggest';
import { show } from '../text';
import type { FunctionOptions, RegisteredFunction } from './types';

/** Names that no function may have: `http` calls a URL. */
const RESERVED = ['http'];
const NAME = /^[\w][\w./-]{0,127}$/;
const FIELDS = ['name', 'run', 'kind'];

/**
 * Returns a function that nodes with it in their config file can run. Throws a `ConfigError` with
 * all problems.
 */
export const defineFunction = (options: FunctionOptions): RegisteredFunction => {
  const problems: Problem[] = [];
  if (typeof options !== 'object' || options === null)
    throw new ConfigError('function', [{ path: '', message: `expected {name, run}, got ${show(options)}` }]);
  const { name, run } = options;
  if (typeof name !== 'string' || !NAME.test(name) || isContentId(name))
    problems.push({
      path: 'name',
      message: `expected 1-128 characters of a-z, A-Z, 0-9, _, -, . and /, and not the id of a module, got ${show(name)}`,
    });
  else if (RESERVED.includes(name))
    problems.push({ path: 'name', message: `expected a name other than "${name}", which means a call of a URL` });
  if (typeof run !== 'function') problems.push({ path: 'run', message: `expected a function, got ${show(run)}` });
  for (const key of Object.keys(options))
    if (!FIELDS.includes(key)) problems.push({ path: key, message: `unknown setting${didYouMean(key, FIELDS)}` });
  if (problems.length > 0) throw new ConfigError(`function ${show(name)}`, problems);
  return { kind: 'muster-function', name, run: (args, call) => run.call(options, args, call) };
};

/**
 * Says whether an id is that of a WebAssembly module: the sha256 of its bytes in hex, or the same
 * digest as a CIDv1 (raw, sha2-256, base32).
 */
export const isContentId = (id: string): boolean => /^[0-9a-f]{64}$/.test(id) || /^bafkrei[a-z2-7]{52}$/.test(id);

const isFunction = (value: unknown): value is RegisteredFunction =>
  typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'muster-function';

/**
 * Returns the functions of a configuration. Entries are functions made by `defineFunction`, or
 * options from which they are made here. Throws one `ConfigError` with the problems of all entries.
 */
export const checkFunctions = (value: unknown): RegisteredFunction[] => {
  if (!Array.isArray(value))
    throw new ConfigError('functions', [
      { path: 'functions', message: `expected an array of {name, run}, got ${show(value)}` },
    ]);
  const problems: Problem[] = [];
  const functions = new Map<string, RegisteredFunction>();
  value.forEach((entry: unknown, place) => {
    try {
      const made = isFunction(entry) ? entry : defineFunction(entry as FunctionOptions);
      if (functions.has(made.name))
        problems.push({ path: `functions.${place}.name`, message: `expected a unique name, got "${made.name}"` });
      functions.set(made.name, made);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      for (const { path, message } of error.problems)
        problems.push({ path: `functions.${place}${path === '' ? '' : `.${path}`}`, message });
    }
  });
  if (problems.length > 0) throw new ConfigError('functions', problems);
  return [...functions.values()];
};
