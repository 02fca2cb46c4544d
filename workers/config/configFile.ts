import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { createJiti } from 'jiti';
import * as zod from 'zod';
import { checkFunctions } from '../../handlers/functions';
import type { RegisteredFunction } from '../../handlers/functions';
import type { Handler, Problem } from '../../handlers';
import { checkHandlers } from '../../handlers';
import * as muster from '../../client';
import { cacheDirectory } from '../embedded/paths';
import { fileSchema, problemsOf, SETTING_NAMES } from './settingsSchema';
import type { FileSettings } from './settingsSchema';

/** In this order; two in one folder are reported as a mistake. */
export const CONFIG_NAMES = ['ts', 'js', 'mjs', 'cjs', 'json'].map((extension) => `muster.config.${extension}`);

type Env = Readonly<Record<string, string | undefined>>;

export interface ConfigFile {
  path: string;
  handlers: Handler[];
  functions: RegisteredFunction[];
  settings: FileSettings;
  problems: Problem[];
}

/** Returns the config file of a folder, or null. */
export const findConfig = (cwd: string, problems: Problem[]): string | null => {
  const found = CONFIG_NAMES.filter((name) => existsSync(path.join(cwd, name)));
  if (found.length > 1)
    problems.push({
      path: 'config',
      message: `expected one config file, got ${found.join(' and ')}; choose one with --config`,
    });
  return found[0] === undefined ? null : path.join(cwd, found[0]);
};

/**
 * Loads a config file: TypeScript or JavaScript through jiti, or JSON. Returns its problems rather
 * than throwing, so that they can be reported with those of other settings.
 */
export const loadConfig = async (file: string, env: Env): Promise<ConfigFile> => {
  const nothing = { path: file, handlers: [], functions: [], settings: {} };
  const name = path.basename(file);
  if (!existsSync(file))
    return { ...nothing, problems: [{ path: 'config', message: `expected a file at ${file}, got none` }] };
  let exported: unknown;
  try {
    exported = file.endsWith('.json') ? JSON.parse(readFileSync(file, 'utf8')) : await importConfig(file);
  } catch (error) {
    if (isConfigError(error)) return { ...nothing, problems: prefixed(name, error.problems, error.subject) };
    return { ...nothing, problems: [{ path: name, message: unreadable(error) }] };
  }
  const problems: Problem[] = [];
  const options = { json: file.endsWith('.json'), env, folder: path.dirname(file) };
  const settings = settingsIn(exported, options, name, problems);
  const functions = functionsIn(exported, name, problems);
  // Where there are functions there need not be handlers.
  const given = [asRecord(exported), asRecord(asRecord(exported)['default'])];
  const only =
    (functions.length > 0 || settings.executions !== undefined) &&
    !Array.isArray(exported) &&
    given.every(
      (one) => one['handlers'] === undefined && !Array.isArray(one['default']) && one['submit'] === undefined,
    );
  const handlers = only ? [] : handlersIn(exported, env, name, problems);
  return { path: file, handlers, functions, settings, problems };
};

/**
 * Imports a config file. `import 'temporal-muster'` in it means this very program, wherever the
 * file is and whatever is installed beside it. zod is the folder's, or ours if it has none: a
 * config needs nothing installed to begin with.
 */
const importConfig = async (file: string): Promise<unknown> => {
  const jiti = createJiti(__filename, {
    // In our cache, not the folder for temporary files, where anyone on the machine may write what
    // we would then run.
    fsCache: path.join(cacheDirectory(), 'jiti'),
    virtualModules: { 'temporal-muster': muster, ...(hasOwn(file, 'zod') ? {} : { zod }) },
  });
  return jiti.import(file);
};

const hasOwn = (file: string, name: string): boolean => {
  try {
    createRequire(file).resolve(name);
    return true;
  } catch {
    return false;
  }
};

const handlersIn = (exported: unknown, env: Env, name: string, problems: Problem[]): Handler[] => {
  try {
    return checkHandlers(exported, { env: { ...env } });
  } catch (error) {
    if (!isConfigError(error)) throw error;
    problems.push(...prefixed(name, error.problems));
    return [];
  }
};

/** Returns the `functions`: a separate export, or a field of the default export. */
const functionsIn = (exported: unknown, name: string, problems: Problem[]): RegisteredFunction[] => {
  const top = asRecord(exported);
  const value = top['functions'] ?? asRecord(top['default'])['functions'];
  if (value === undefined) return [];
  try {
    return checkFunctions(value);
  } catch (error) {
    if (!isConfigError(error)) throw error;
    problems.push(...prefixed(name, error.problems));
    return [];
  }
};

/**
 * Returns the settings beside the handlers: top-level exports, or fields of the default export or
 * of the JSON object.
 */
const settingsIn = (
  exported: unknown,
  options: { json: boolean; env: Env; folder: string },
  name: string,
  problems: Problem[],
): FileSettings => {
  const top = asRecord(exported);
  const inner = asRecord(top['default']);
  const given: Record<string, unknown> = {};
  for (const setting of SETTING_NAMES) {
    const value = top[setting] ?? inner[setting];
    if (value !== undefined) given[setting] = value;
  }
  // Named exports of a module may be anything; an object that holds the settings holds nothing
  // else, so a typo is found.
  const closed =
    options.json && !Array.isArray(exported)
      ? top
      : isPlain(top['default']) && ('handlers' in inner || 'functions' in inner)
        ? inner
        : {};
  for (const key of Object.keys(closed))
    if (key !== 'handlers' && key !== 'functions' && !SETTING_NAMES.includes(key)) given[key] = closed[key];
  const schema = fileSchema(options);
  const found = problemsOf(schema, given);
  problems.push(...prefixed(name, found));
  return found.length > 0 ? {} : schema.parse(given);
};

const prefixed = (name: string, problems: readonly Problem[], subject = ''): Problem[] =>
  problems.map(({ path: at, message }) => ({
    path: [name, subject, at].filter((part) => part !== '').join(', '),
    message,
  }));

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
const isPlain = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** By name: the file may have the class from another copy of the package. */
const isConfigError = (error: unknown): error is Error & { problems: readonly Problem[]; subject: string } =>
  error instanceof Error && error.name === 'ConfigError' && Array.isArray((error as { problems?: unknown }).problems);

const unreadable = (error: unknown): string => {
  const message = (error as Error).message.split('\nRequire stack')[0]!;
  const missing = /Cannot find (?:module|package) '([^']+)'/.exec(message)?.[1];
  const remedy = missing === undefined || /^[./]/.test(missing) ? '' : `. Install it there: npm install ${missing}`;
  return `cannot be loaded: ${message}${remedy}`;
};
