import { statSync } from 'node:fs';
import { runCommand, type User } from './commands';

/** Accounts that exist for such a purpose, best first (`_postgres` is macOS). */
const CANDIDATES = ['postgres', '_postgres', 'nobody'];

/**
 * Returns the user that Postgres runs as: undefined (ourselves) for an ordinary user. Postgres
 * refuses to run as root, so for root it is the owner of the cluster that exists at `clusterDir`,
 * or else a system account. No account is made: that would change the machine permanently.
 */
export async function serverUser(clusterDir: string): Promise<User | undefined> {
  if (process.getuid?.() !== 0) {
    return undefined;
  }
  const owner = statSync(clusterDir, { throwIfNoEntry: false });
  if (owner !== undefined && owner.uid !== 0) {
    return { name: `the owner of ${clusterDir}`, uid: owner.uid, gid: owner.gid };
  }
  for (const name of CANDIDATES) {
    const [uid, gid] = await Promise.all([idOf(name, '-u'), idOf(name, '-g')]);
    if (uid !== null && gid !== null && uid !== 0) {
      return { name: `user ${name}`, uid, gid };
    }
  }
  throw new Error(
    `Postgres does not run as root: expected a user ${CANDIDATES.join(', ')} to run it as, got none. ` +
      'Run as an ordinary user, add one ("useradd --system postgres"), or give DATABASE_URL',
  );
}

/** Most time that a lookup of an account may take: it may ask a directory over the network. */
const LOOKUP_MS = 15_000;

/**
 * Returns the number of an account or of its group; null: there is no such account.
 *
 * @throws Error if nothing answered, or not with a number: taken for 0 it would be root's.
 */
async function idOf(name: string, flag: '-u' | '-g'): Promise<number | null> {
  for (let attempt = 1; ; attempt += 1) {
    const { ok, stdout, reason, timedOut } = await runCommand('id', [flag, name], { timeoutMs: LOOKUP_MS });
    // macOS writes the id of nobody as 4294967294, spawn takes the same as -2.
    if (ok && /^\d+\s*$/.test(stdout)) return Number(stdout) | 0;
    if (!ok && !timedOut) return null;
    if (attempt < 2) continue;
    throw new Error(
      `Cannot find the user to run Postgres as: expected a number of \`id ${flag} ${name}\`, ` +
        `got ${timedOut ? `nothing (${reason})` : JSON.stringify(stdout.slice(0, 80))}. ` +
        'Try again, run as an ordinary user, or give DATABASE_URL.',
    );
  }
}

/**
 * Returns the name under which `user` can reach `directory`, which it owns. Its parents may be
 * closed to it (root's home is): then, on Linux, a process started in the directory still reaches
 * it as `/proc/self/cwd`, and no permissions need widening.
 */
export async function asReachedBy(user: User | undefined, directory: string): Promise<string> {
  if (user === undefined) {
    return directory;
  }
  for (const name of [directory, '/proc/self/cwd']) {
    const options = { timeoutMs: LOOKUP_MS, user, cwd: directory };
    if ((await runCommand('/bin/sh', ['-c', 'test -w "$1"', 'sh', name], options)).ok) {
      return name;
    }
  }
  throw new Error(
    `dataDir: expected a directory that ${user.name} can reach (Postgres does not run as root), got ${directory}; ` +
      'choose another, open its parent directories to others (chmod o+x), or run as an ordinary user',
  );
}
