import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

const STALE_MS = 60 * 60_000;
const WORK_PREFIX = '.install-';

/**
 * Puts a file or directory into the cache under `name` and returns its path. `build` makes it in a directory of its own and returns where
 * it lies; one rename publishes it, so that another process sees all of it or nothing, and two that install at once both end with a whole one.
 */
export async function install(cacheDir: string, name: string, build: (workDir: string) => Promise<string>) {
  mkdirSync(cacheDir, { recursive: true, mode: 0o755 });
  removeStale(cacheDir, WORK_PREFIX);
  const workDir = mkdtempSync(join(cacheDir, WORK_PREFIX));
  try {
    const built = await build(workDir);
    const target = join(cacheDir, name);
    publish(built, target);
    return target;
  } finally {
    rmSync(workDir, { recursive: true, force: true });
  }
}

/** Renames `built` to `target`; where another process was first with a directory, the first one stays. True if ours was put there. */
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

/** Removes what an installation left behind that was killed: directories `prefix`* in `parent`, over an hour old, so that nobody works in them. */
export function removeStale(parent: string, prefix: string): void {
  for (const name of readdirSync(parent).filter((entry) => entry.startsWith(prefix))) {
    const path = join(parent, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > STALE_MS) {
      rmSync(path, { recursive: true, force: true });
    }
  }
}
