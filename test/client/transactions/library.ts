import type { Queryable } from '../../../postgres/pool';

/** A library that speaks to Postgres, as its users begin a transaction with it. */
export interface Library {
  /** How the refusal of `raw` ends, which names the adapter. */
  remedy: string;
  /**
   * Runs `work` in one of its transactions, which it commits, or rolls back if `work` throws.
   * `send` sends a statement of the user's own in it; `raw` is what the library gives.
   */
  transact<T>(work: (of: Joined) => Promise<T>): Promise<T>;
  /** What the adapter makes of something of the library that is in no transaction. */
  outside(): Queryable;
  end(): Promise<unknown>;
}

export interface Joined {
  tx: Queryable;
  raw: unknown;
  send(text: string): Promise<unknown>;
}
