import { execFileSync } from 'node:child_process';
import kept from '../helpers/jest/seconds.json';
import { read, ROOT, trackedFiles } from '../project/project';
import { reaches } from './imports';
import type { Mutant } from './mutants/mutant';
import { mutantsOf } from './mutants/typescript';

/** A part of the product that is mutated as one. */
export interface Folder {
  name: string;
  jestConfig: string;
  /** Without servers each test stands for itself, and all of them can be run. */
  hasServers: boolean;
  /** Test files that may touch it. */
  tests: (file: string) => boolean;
}

/** Tests that start processes of dist/, take minutes, or measure: none sees a mutant soon. */
const SLOW = /^test\/(bench|chaos|liveness|stops|replay|examples|embedded|project|planning|handlers|mutation)\//;
const PROCESSES = /^test\/cli\/processes\//;
const MOST_SECONDS = 15;
const NOT_RUN = /^ ?\/?\*+ (.* )?@(full|alone)\b/m;

const seconds: Readonly<Record<string, number>> = kept;
const onServers = (file: string): boolean =>
  !SLOW.test(file) && !PROCESSES.test(file) && (seconds[file] ?? 0) <= MOST_SECONDS && !NOT_RUN.test(read(file));

const withServers = (name: string): Folder => ({
  name,
  jestConfig: 'jest.config.js',
  hasServers: true,
  tests: onServers,
});

export const FOLDERS: readonly Folder[] = [
  {
    name: 'workflows/planning',
    jestConfig: 'jest.unit.config.js',
    hasServers: false,
    tests: (file) => file.startsWith('test/planning/') || file === 'test/project/sqlStates.test.ts',
  },
  ...['postgres', 'activities', 'workers'].map(withServers),
];

/** Returns the folder that a path belongs to; undefined: it is not mutated. */
export const folderOf = (path: string): Folder | undefined =>
  FOLDERS.find(({ name }) => path === name || path.startsWith(`${name}/`));

/** How long a file took the last time that all were timed; a file without a time is short. */
export const secondsOf = (file: string): number => seconds[file] ?? 0;

/** Returns the tests of a folder that load one of the mutated files, the shortest first. */
export const testsOf = (folder: Folder, mutants: readonly Mutant[]): string[] => {
  const files = new Set(mutants.map(({ file }) => file));
  return trackedFiles()
    .filter((file) => file.endsWith('.test.ts') && folder.tests(file) && reaches(file, files))
    .sort((a, b) => secondsOf(a) - secondsOf(b));
};

/**
 * Returns the files that differ from a commit, the ones that are not committed included; null:
 * there is no such commit, as in a clone without the history.
 */
export const changedSince = (ref: string): Set<string> | null => {
  try {
    git('rev-parse', '--verify', '--quiet', `${ref}^{commit}`);
  } catch {
    return null;
  }
  return new Set(git('diff', '--name-only', '-z', ref, '--').split('\0'));
};
const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'safe.directory=*', ...args], { cwd: ROOT, encoding: 'utf8' });

/** Returns the mutants of every file at or below a path. */
export const mutantsBelow = (path: string): Mutant[] =>
  trackedFiles()
    .filter((file) => file.endsWith('.ts') && (file === path || file.startsWith(`${path}/`)))
    .flatMap((file) => {
      const text = read(file);
      return [...mutantsOf(file, text, 'typescript'), ...mutantsOf(file, text, 'sql')];
    });
