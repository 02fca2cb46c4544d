import { createClient } from '../../../client';
import type { Client } from '../../../client';
import { cutWindows, ONLY_BY_INDEX } from '../../../postgres/operations/sample';
import { INVARIANTS } from '../../../postgres/operations/verify';
import type { Pool } from '../../../postgres/pool';
import { createPool } from '../../../postgres/pool';
import { inSnapshot } from '../../../postgres/snapshot';
import { Retention } from '../../../postgres/sweeper/retention';
import { rowsRead } from '../measures/operationsMeasures';
import { lastPages, LISTS, LOOKUPS } from './lookups';
import type { Lookup, Pages } from './lookups';

/** What one question costs: times in ms, and the rows that it reads of tables and indexes. */
export interface Figure {
  group: 'first page' | 'pages 2 to 100' | 'last page' | 'lookup' | 'part of verify' | 'retention';
  name: string;
  times: number[];
  /** Per question. */
  rows: number;
}

/** Yields a figure of each question: each is asked `runs` times. */
export async function* figures(
  databaseUrl: string,
  { tasks, runs, pages }: { tasks: number; runs: number; pages: number },
): AsyncGenerator<Figure> {
  const pool = createPool({ databaseUrl, max: 1 });
  const client = createClient({ databaseUrl, pool, temporal: { address: '127.0.0.1:1' } });
  const ask = (group: Figure['group'], name: string, lookup: Lookup): Promise<Figure> =>
    times(
      pool,
      group,
      name,
      Array.from({ length: runs }, () => () => lookup(client)),
    );
  try {
    await client.status('mails', { exact: false }); // the schema is checked once, at the first question
    for (const [name, list] of Object.entries(LISTS)) {
      yield await ask('first page', name, (one) => list(one, undefined));
      const further = await onwards(pool, client, name, list, pages);
      if (further !== null) yield further;
    }
    for (const [name, lookup] of Object.entries(lastPages(tasks))) yield await ask('last page', name, lookup);
    for (const [name, lookup] of Object.entries(LOOKUPS)) yield await ask('lookup', name, lookup);
    yield* partsOfVerify(pool);
    yield* retention(pool, runs);
  } finally {
    await client.close();
    await pool.end();
  }
}

const times = async (
  pool: Pool,
  group: Figure['group'],
  name: string,
  asked: readonly (() => Promise<unknown>)[],
): Promise<Figure> => {
  const before = await rowsRead(pool);
  const took: number[] = [];
  for (const one of asked) {
    const begun = performance.now();
    await one();
    took.push(performance.now() - begun);
  }
  return { group, name, times: took, rows: Math.round(((await rowsRead(pool)) - before) / Math.max(1, asked.length)) };
};

const onwards = async (
  pool: Pool,
  client: Client,
  name: string,
  list: Pages,
  pages: number,
): Promise<Figure | null> => {
  let { next } = await list(client, undefined);
  const took: number[] = [];
  const before = await rowsRead(pool);
  while (next !== null && took.length < pages) {
    const begun = performance.now();
    ({ next } = await list(client, next));
    took.push(performance.now() - begun);
  }
  if (took.length === 0) return null;
  const rows = Math.round(((await rowsRead(pool)) - before) / took.length);
  return { group: 'pages 2 to 100', name, times: took, rows };
};

const ROWS = 20_000;
/** Each invariant as `verify` checks it in a large store: in windows of its table. */
async function* partsOfVerify(pool: Pool): AsyncGenerator<Figure> {
  for (const { name, text, sample } of INVARIANTS)
    yield await times(pool, 'part of verify', name, [
      () =>
        inSnapshot(pool, async (db) => {
          await db.query(ONLY_BY_INDEX);
          const windows = sample === undefined ? null : await cutWindows(db, sample.of, ROWS);
          if (windows === null || windows.isWhole) await db.query({ text });
          else if (sample!.text !== null)
            await db.query({ text: sample!.text, values: [windows.from, windows.to, windows.rows] });
        }),
    ]);
}

const DELETED = 2_000;
/** Deletes of what is older than five days and a half; then the same with nothing to delete. */
async function* retention(pool: Pool, runs: number): AsyncGenerator<Figure> {
  const keep = (ms: number): Promise<unknown> => pool.query('update handler set retention_ms = $1', [ms]);
  const fresh = Array.from({ length: runs }, () => () => new Retention().deleteExpired(pool, DELETED));
  yield await times(pool, 'retention', 'nothing to delete', fresh);
  await keep(5.5 * 86_400_000);
  const retention = new Retention();
  const again = Array.from({ length: runs }, () => () => retention.deleteExpired(pool, DELETED));
  yield await times(pool, 'retention', `${DELETED} tasks`, again);
}
