import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { accessSync, chownSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { serverUser } from '../../workers/embedded/serverUser';
import { eventually } from '../helpers/eventually';
import { freePort } from '../helpers/machine/freePort';

export interface PgBouncer {
  port: number;
  /** Leads an address of the server through it. */
  through(url: string): string;
  /** Returns how many transactions it has passed on. */
  countTransactions(): Promise<number>;
  stop(): Promise<void>;
}

/** Settings of PgBouncer that a test sets. */
interface Chosen {
  /** Sessions per database that all clients share; default: fewer than a worker has connections. */
  sessions?: number;
  /** Parameters of a start that are taken and dropped. */
  ignored?: string;
}
const SESSIONS = 15;

/** Returns the program of this name on the PATH, or of Debian; null: there is none. */
export const findPgBouncer = (): string | null => {
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), '/usr/sbin'];
  const isProgram = (file: string): boolean => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  };
  return folders.map((folder) => path.join(folder, 'pgbouncer')).find(isProgram) ?? null;
};

/** Starts PgBouncer in transaction mode in front of every database of a server. */
export const startPgBouncer = async (
  program: string,
  server: string,
  { sessions = SESSIONS, ignored = '' }: Chosen = {},
): Promise<PgBouncer> => {
  const { hostname, port, username, password } = new URL(server);
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-pgbouncer-'));
  const listensAt = await freePort();
  const login = `user=${decodeURIComponent(username)} password=${decodeURIComponent(password)}`;
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: listensAt,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    max_client_conn: 2_000,
    default_pool_size: sessions,
    ignore_startup_parameters: ignored,
    // What a transaction needs that no session gives: an error, long before a test's end.
    query_wait_timeout: 60,
  };
  const file = path.join(folder, 'pgbouncer.ini');
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const databases = `* = host=${hostname} port=${port} ${login}`;
  writeFileSync(file, ['[databases]', databases, '[pgbouncer]', ...lines, ''].join('\n'), { mode: 0o600 });
  const user = await serverUser(folder); // as Postgres, it does not run as root
  if (user !== undefined) for (const one of [folder, file]) chownSync(one, user.uid, user.gid);
  const said: string[] = [];
  const child = spawn(program, ['-q', file], { uid: user?.uid, gid: user?.gid, stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr.setEncoding('utf8').on('data', (text: string) => said.push(text));
  const stop = async (): Promise<void> => {
    await ended(child);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await eventually(() => isUp(listensAt, child), { what: () => said.join('').slice(-2_000) });
  } catch (error) {
    await stop();
    throw error;
  }
  const through = (url: string): string => Object.assign(new URL(url), { port: String(listensAt) }).href;
  return { port: listensAt, through, countTransactions: () => countTransactions(listensAt), stop };
};

const isUp = async (port: number, child: ChildProcess): Promise<boolean> => {
  if (child.exitCode !== null) throw new Error(`Cannot use PgBouncer: it ended with ${child.exitCode}.`);
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'any', database: 'postgres' });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
};

const countTransactions = async (port: number): Promise<number> => {
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'any', database: 'pgbouncer' });
  await client.connect();
  try {
    const { rows } = await client.query<{ total_xact_count: string }>('show stats');
    return rows.reduce((sum, row) => sum + Number(row.total_xact_count), 0);
  } finally {
    await client.end();
  }
};

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.on('exit', () => resolve());
    child.kill('SIGTERM');
  });
