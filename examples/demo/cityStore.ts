import { createHash } from 'node:crypto';
import { escapeIdentifier, type Pool } from 'pg';

export interface IndexItem {
  id: string;
  doc: Record<string, unknown>;
}

export interface StoreCounts {
  rows: number;
  /** Writes of a row beyond its first: an effect that happened twice. */
  duplicateEffects: number;
}

export type IndexOutcome = { kind: 'first' | 'replay'; answer: string } | { kind: 'key-reused' };

/**
 * The downstream's own database: what it has indexed, and the answer it gave to every idempotency
 * key.
 */
export class CityStore {
  private readonly schema: string;
  constructor(
    private readonly pool: Pool,
    schema: string,
  ) {
    this.schema = escapeIdentifier(schema);
  }

  /** Creates schema and tables where they are missing. */
  async prepare(): Promise<void> {
    await this.pool.query(`
      create schema if not exists ${this.schema};
      create table if not exists ${this.schema}.city (
        id text primary key, country text not null, doc jsonb not null, writes integer not null default 1);
      create table if not exists ${this.schema}.answer (
        key text primary key, content_hash text not null, body text not null, at timestamptz not null default now())`);
  }

  /**
   * Stores the items and the answer to `key` in one transaction (one statement is one). A repeated
   * key has no effect and gets the first answer; while the first is not yet committed, the insert
   * of its key waits for it.
   */
  async index(key: string, country: string, items: readonly IndexItem[], answer: string): Promise<IndexOutcome> {
    const ids = items.map((item) => item.id);
    const docs = items.map((item) => JSON.stringify(item.doc));
    const hash = createHash('sha256')
      .update(JSON.stringify([country, items]))
      .digest('hex');
    const { rows } = await this.pool.query<{ first: boolean }>(
      `with first as (
         insert into ${this.schema}.answer (key, content_hash, body) values ($1, $2, $3)
         on conflict (key) do nothing returning key
       ), stored as (
         insert into ${this.schema}.city (id, country, doc)
         select item.id, $4, item.doc from unnest($5::text[], $6::jsonb[]) as item (id, doc)
         where exists (select from first) order by item.id -- one order, or two calls with common ids may deadlock
         on conflict (id) do update set doc = excluded.doc, country = excluded.country, writes = city.writes + 1
       )
       select exists (select from first) as first`,
      [key, hash, answer, country, ids, docs],
    );
    return rows[0]?.first === true ? { kind: 'first', answer } : this.earlierAnswer(key, hash);
  }

  async counts(): Promise<StoreCounts> {
    const { rows } = await this.pool.query<StoreCounts>(
      `select count(*)::int as rows, coalesce(sum(writes - 1), 0)::int as "duplicateEffects" from ${this.schema}.city`,
    );
    return rows[0] ?? { rows: 0, duplicateEffects: 0 };
  }

  /** A separate statement, so that it sees the row for which the insert has waited. */
  private async earlierAnswer(key: string, hash: string): Promise<IndexOutcome> {
    const { rows } = await this.pool.query<{ body: string; same: boolean }>(
      `select body, content_hash = $2 as same from ${this.schema}.answer where key = $1`,
      [key, hash],
    );
    const row = rows[0];
    return row?.same === true ? { kind: 'replay', answer: row.body } : { kind: 'key-reused' };
  }
}
