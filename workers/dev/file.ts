import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

/** What `muster dev` leaves for the other commands that are run in the same folder. */
const devFile = z.object({
  pid: z.number().int(),
  databaseUrl: z.string(),
  schema: z.string(),
  prefix: z.string(),
  temporal: z.object({ address: z.string(), namespace: z.string(), uiUrl: z.string().nullable() }),
  /** The HTTP API. */
  api: z.string().optional(),
  /** The config file, where it was not the one found in the folder. */
  config: z.string().nullable(),
});
export type DevServers = z.infer<typeof devFile>;

const DEV_DIRECTORY = '.muster';
const fileIn = (cwd: string): string => path.join(cwd, DEV_DIRECTORY, 'dev.json');

/**
 * Makes the directory, for its owner only, with a `.gitignore` in it: data and passwords of a
 * development server belong in no repository, and to no other user of the machine.
 */
export const makeDevDirectory = (directory: string): void => {
  const isNew = mkdirSync(directory, { recursive: true, mode: 0o700 }) !== undefined;
  // A folder that the user made for the data keeps the user's mode; what is in it is closed.
  if (isNew || path.basename(directory) === DEV_DIRECTORY) chmodSync(directory, 0o700);
  try {
    writeFileSync(path.join(directory, '.gitignore'), '*\n', { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  closeFiles(directory);
};

/** Closes files that a version before made with wider modes. */
const closeFiles = (directory: string): void => {
  for (const entry of readdirSync(directory, { withFileTypes: true }))
    if (entry.isFile() && OURS.test(entry.name)) chmodSync(path.join(directory, entry.name), 0o600);
};
const OURS = /^(\.gitignore|dev\.(json|log)|callback-secret|temporal\.db(-shm|-wal)?)$/;

/**
 * Writes the file, readable by its owner only: it contains the password of the development
 * database.
 */
export const writeDevFile = (cwd: string, servers: DevServers): void => {
  makeDevDirectory(path.join(cwd, DEV_DIRECTORY));
  const file = fileIn(cwd);
  writeFileSync(`${file}.new`, `${JSON.stringify(servers, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
};

export const removeDevFile = (cwd: string): void => rmSync(fileIn(cwd), { force: true });

/**
 * Returns the servers of a `muster dev` that runs in this folder; null: there is none, or the
 * file's process is gone.
 */
export const readDevFile = (cwd: string): DevServers | null => {
  let text: string;
  try {
    text = readFileSync(fileIn(cwd), 'utf8');
  } catch {
    return null;
  }
  try {
    const servers = devFile.parse(JSON.parse(text));
    return isAlive(servers.pid) ? servers : null;
  } catch {
    return null; // of another version: as if there were none
  }
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // it runs, as another user's process
  }
};
