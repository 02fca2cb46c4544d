import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ROOT } from '../project';

/** What an import of one entry did, in a process of its own. */
export interface Loaded {
  modules: number;
  /** CPU time: a busy machine changes it less than the time on the clock. */
  ms: number;
  /** Names of the packages that were loaded, each once. */
  packages: string[];
  /** Files of native code that were loaded. */
  native: string[];
  /** The names that the entry exports. */
  names: string[];
}

const REQUIRE = `
  const begun = process.cpuUsage();
  const entry = require(process.argv[1]);
  const { user, system } = process.cpuUsage(begun);
  const files = Object.keys(require.cache);
  const packageOf = (file) => /.*node_modules.((?:@[^/]+.)?[^/]+)/.exec(file)?.[1] ?? 'temporal-muster';
  console.log(JSON.stringify({
    modules: files.length,
    ms: (user + system) / 1000,
    packages: [...new Set(files.map(packageOf))],
    native: files.filter((file) => file.endsWith('.node')),
    names: Object.keys(entry).filter((name) => name !== 'default').sort(),
  }));`;

const IMPORT = `
  const named = {};
  const own = (name) => !['default', 'module.exports', '__esModule'].includes(name);
  for (const name of process.argv.slice(1)) named[name] = Object.keys(await import(name)).filter(own).sort();
  console.log(JSON.stringify(named));`;

const runNode = async (type: string, script: string, args: readonly string[], cwd: string): Promise<unknown> => {
  const node = [`--input-type=${type}`, '-e', script, '--', ...args];
  const { stdout } = await promisify(execFile)(process.execPath, node, { cwd });
  return JSON.parse(stdout);
};

/** Requires an entry from a folder; the default finds the package by its own name. */
export const requireEntry = async (name: string, from = ROOT): Promise<Loaded> =>
  (await runNode('commonjs', REQUIRE, [name], from)) as Loaded;

/** Imports entries as an ES module does; returns the names that each exports. */
export const importEntries = async (names: readonly string[], from = ROOT): Promise<Record<string, string[]>> =>
  (await runNode('module', IMPORT, names, from)) as Record<string, string[]>;
