import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';

/**
 * What a judge looks at, whatever it judges: the store by plain SQL, and the files of the
 * downstream. Imports nothing of Muster.
 */

export const readStore = async <T>(databaseUrl: string, read: (db: pg.Client) => Promise<T>): Promise<T> => {
  const db = new pg.Client({ connectionString: databaseUrl, options: '-c search_path=muster' });
  await db.connect();
  return read(db).finally(() => db.end());
};

/** A file that nobody wrote is empty. */
export const linesOf = <T>(runDir: string, name: string): T[] => {
  const file = path.join(runDir, name);
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
};

const FINDINGS = 20;

/** The first few findings, in words. */
export class Findings {
  readonly all: string[] = [];
  readonly find = (what: string): void => void (this.all.length < FINDINGS && this.all.push(what));

  /** How many ids were accepted and are not in the store. */
  lost(acked: readonly string[], stored: { has(id: string): boolean }): number {
    const lost = acked.filter((id) => !stored.has(id));
    for (const id of lost) this.find(`lost: ${id} was accepted and is not in the store`);
    return lost.length;
  }
}
