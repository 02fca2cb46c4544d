/**
 * Where programs are found and where ours are kept: the only file of this folder that reads the
 * environment.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';

/** For root: a cache in root's home is closed to the user that Postgres runs as. */
export const MACHINE_CACHE = '/var/cache/muster';

/**
 * The directory that Muster keeps fetched servers in, if it can be used: the first of
 * `cacheDirectories`.
 */
export function cacheDirectory(): string {
  return cacheDirectories()[0] as string;
}

/**
 * Returns the directories that may hold fetched servers, best first: `given` alone, or
 * `$XDG_CACHE_HOME/muster` or `~/.cache/muster`, for root that of the machine, and, for a home that
 * is missing or read-only, one in the temporary directory.
 */
export function cacheDirectories(given?: string): string[] {
  if (given !== undefined) {
    return [given];
  }
  const own = ownCache();
  return [...(own === undefined ? [] : [own]), ...(process.getuid?.() === 0 ? [MACHINE_CACHE] : []), temporaryCache()];
}

function ownCache(): string | undefined {
  const xdg = process.env.XDG_CACHE_HOME;
  // The XDG specification tells to ignore a relative path.
  if (xdg !== undefined && isAbsolute(xdg)) {
    return join(xdg, 'muster');
  }
  const home = homeDirectory();
  return home !== undefined && isAbsolute(home) ? join(home, '.cache', 'muster') : undefined;
}

function homeDirectory(): string | undefined {
  try {
    return homedir();
  } catch {
    // Neither HOME nor an entry in the list of users, as in a container that was started with an
    // unlisted user id.
    return undefined;
  }
}

/** Named after the user, for whom alone it is: `isTrusted` of cache.ts checks that. */
export function temporaryCache(): string {
  return join(tmpdir(), `muster-cache-${process.getuid?.() ?? 'user'}`);
}

/**
 * Full path of the first executable file called `name` in `searchPath` (default: PATH), or
 * undefined.
 */
export function findOnPath(name: string, searchPath: string = process.env.PATH ?? ''): string | undefined {
  const directories = searchPath.split(delimiter).filter((directory) => isAbsolute(directory));
  return directories.map((directory) => join(directory, name)).find(isExecutableFile);
}

export function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * The environment of the servers we start. Settings meant for this process or for a client must not
 * reach them: NODE_OPTIONS would load a debugger into the guardian, PG* and TEMPORAL_* name other
 * servers and carry their credentials.
 */
export function serverEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(NODE_OPTIONS$|PG|TEMPORAL_)/.test(name));
  return Object.fromEntries(kept) as Record<string, string>;
}
