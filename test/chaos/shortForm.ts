import { execFile } from 'node:child_process';
import path from 'node:path';

const CHAOS = path.join(__dirname, '..', '..', 'dist', 'test', 'chaos', 'chaos.js');

export interface ShortForm<O> {
  code: number;
  /** Null: it came to none. */
  outcome: O | null;
  /** What it says on stderr. */
  table: string;
}

/**
 * `npm run test:chaos` with these arguments, in its own processes with its own servers: it kills
 * the dev server too.
 */
export const runShort = <O>(args: readonly string[]): Promise<ShortForm<O>> =>
  new Promise((resolve) => {
    execFile(process.execPath, [CHAOS, ...args], { maxBuffer: 1e8 }, (error, stdout, table) => {
      const code = error === null ? 0 : Number(error.code ?? 1);
      resolve({ code, outcome: stdout === '' ? null : (JSON.parse(stdout) as O), table });
    });
  });
