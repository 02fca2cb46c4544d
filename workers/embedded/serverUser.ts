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
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map((flag) => runCommand('id', [flag, name], { timeoutMs: 5_000 })),
    );
    if (uid?.ok && gid?.ok) {
      // macOS writes this account's id as 4294967294, spawn takes the same as -2.
      return { name: `user ${name}`, uid: Number(uid.stdout) | 0, gid: Number(gid.stdout) | 0 };
    }
  }
  throw new Error(
    `Postgres does not run as root: expected a user ${CANDIDATES.join(', ')} to run it as, got none. ` +
      'Run as an ordinary user, add one ("useradd --system postgres"), or give DATABASE_URL',
  );
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
    const options = { timeoutMs: 5_000, user, cwd: directory };
    if ((await runCommand('/bin/sh', ['-c', 'test -w "$1"', 'sh', name], options)).ok) {
      return name;
    }
  }
  throw new Error(
    `dataDir: expected a directory that ${user.name} can reach (Postgres does not run as root), got ${directory}; ` +
      'choose another, open its parent directories to others (chmod o+x), or run as an ordinary user',
  );
}
