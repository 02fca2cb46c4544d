import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MACHINE_CACHE, temporaryCache } from '../paths';

const STALE_MS = 60 * 60_000;
const WORK_PREFIX = '.install-';

/**
 * Puts a file or directory into the cache under `name` and returns its path. `build` makes it in a
 * separate directory and returns its path there; one rename publishes it, so that another process
 * sees all of it or nothing, and two that install at once both end with a whole one. `broken`: what
 * `identityOf` returned for the directory there that is to be replaced.
 */
export async function install(
  cacheDir: string,
  name: string,
  build: (workDir: string) => Promise<string>,
  broken?: string,
) {
  makeCache(cacheDir);
  removeStale(cacheDir, WORK_PREFIX);
  const workDir = mkdtempSync(join(cacheDir, WORK_PREFIX));
  try {
    const built = await build(workDir);
    const target = join(cacheDir, name);
    if (broken !== undefined) {
      setAside(target, join(workDir, 'replaced'), broken);
    }
    publish(built, target);
    return target;
  } finally {
    rmSync(workDir, { recursive: true, force: true });
  }
}

/**
 * Makes the cache directory, which all may read whatever the umask is. Refuses one that `isTrusted`
 * does not trust.
 */
export function makeCache(cacheDir: string): void {
  const firstMade = mkdirSync(cacheDir, { recursive: true });
  if (firstMade !== undefined || cacheDir === MACHINE_CACHE) {
    openToAll(cacheDir);
  }
  if (firstMade !== undefined && cacheDir === MACHINE_CACHE) {
    for (let made = cacheDir; made !== firstMade;) {
      made = dirname(made);
      openToAll(made);
    }
  }
  if (!isTrusted(cacheDir)) {
    throw new Error(`${cacheDir} belongs to another user`);
  }
}

function openToAll(directory: string): void {
  // Not without need: the cache of an image may lie on a read-only file system.
  if ((statSync(directory).mode & 0o755) !== 0o755) {
    chmodSync(directory, 0o755);
  }
}

/**
 * Returns the first directory in which something can be installed; throws with the reason of each
 * if there is none.
 */
export function writableCache(cacheDirs: string[]): string {
  const refused: string[] = [];
  for (const cacheDir of cacheDirs) {
    try {
      makeCache(cacheDir);
      rmSync(mkdtempSync(join(cacheDir, WORK_PREFIX)), { recursive: true });
      return cacheDir;
    } catch (error) {
      refused.push((error as Error).message);
    }
  }
  throw new Error(refused.join('; '));
}

/**
 * Says whether programs of this directory may be run: in the temporary directory anyone can make
 * one under our name.
 */
export function isTrusted(cacheDir: string): boolean {
  if (cacheDir !== temporaryCache()) {
    return true;
  }
  const found = lstatSync(cacheDir, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === (process.getuid?.() ?? found.uid);
}

/**
 * Returns what tells one directory from another that took its place; undefined if there is none.
 */
export function identityOf(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/**
 * Moves `target` away if it still is the one that was found broken, and not the whole one of a
 * faster process.
 */
function setAside(target: string, aside: string, broken: string): void {
  if (identityOf(target) !== broken) {
    return;
  }
  try {
    renameSync(target, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return;
    }
    throw error;
  }
  if (identityOf(aside) !== broken) {
    publish(aside, target);
  }
}

/**
 * Renames `built` to `target`; if another process was first with a directory, the first one stays.
 * True if ours was put there.
 */
export function publish(built: string, target: string): boolean {
  try {
    renameSync(built, target);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) {
      return false;
    }
    throw error;
  }
}

/**
 * Removes what a killed process left behind: directories `prefix`* in `parent`, over an hour old,
 * so that no process works in them. What cannot be removed, such as another user's, stays and does
 * no harm.
 */
export function removeStale(parent: string, prefix: string): void {
  for (const name of readdirSync(parent).filter((entry) => entry.startsWith(prefix))) {
    const path = join(parent, name);
    try {
      const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
      if (age > STALE_MS) {
        rmSync(path, { recursive: true, force: true });
      }
    } catch {
      // Another process removes it at the same time, or it is not ours.
    }
  }
}
