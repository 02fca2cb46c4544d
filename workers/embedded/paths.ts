/** Where programs are found and where ours are kept: the only file of this folder that reads the environment. */
import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';

/** The directory Muster keeps downloaded servers in: `given`, or `$XDG_CACHE_HOME/muster`, or `~/.cache/muster`. */
export function cacheDirectory(given?: string): string {
  if (given !== undefined) {
    return given;
  }
  const xdg = process.env.XDG_CACHE_HOME;
  // The XDG specification tells to ignore a relative path.
  return xdg !== undefined && isAbsolute(xdg) ? join(xdg, 'muster') : join(homedir(), '.cache', 'muster');
}

/** Full path of the first executable file called `name` in `searchPath` (default: PATH), or undefined. */
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
 * The environment of the servers we start. Settings meant for this process or for a client must not reach them: NODE_OPTIONS would load
 * a debugger into the guardian, PG* and TEMPORAL_* name other servers and carry their credentials.
 */
export function serverEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(NODE_OPTIONS$|PG|TEMPORAL_)/.test(name));
  return Object.fromEntries(kept) as Record<string, string>;
}
