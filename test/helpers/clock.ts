import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { Client as PoolClient, Pool } from '../../postgres/pool';

/**
 * How the database's clock follows the skipping server's.
 * - `stepped`: it stands still while anything works and moves only in `skipTo`, from one instant at
 *   which a leader looks to the next. What is measured is then exact to the millisecond, however
 *   slow the machine is.
 * - `flowing`: it is `env.currentTimeMs()`: time also passes while activities run, as it must where
 *   a dispatch waits by itself (paces, in-place repeats). What is measured is late by the work
 *   done, never early.
 */
export type ClockMode = 'stepped' | 'flowing';

/** The database's clock in a test. */
export interface Clock {
  /** Makes every session of the pool see this clock. */
  attach(pool: Pool): Pool;
  unixMs(): Promise<number>;
  /** Puts it to a time before the server skips as far; a flowing clock follows by itself. */
  set(unixMs: number): Promise<void>;
}

/**
 * In place of `clock()` of the migration, which no setting moves: one that a session may move for
 * itself, by an offset in `muster.clock`.
 */
export const letSessionsMoveClock = async (pool: Pool): Promise<void> => {
  await pool.query(`create or replace function clock() returns timestamptz stable language sql as
    $$ select statement_timestamp() + coalesce(nullif(current_setting('muster.clock', true), ''), '0')::interval $$`);
};

/**
 * In place of `clock()` of the migration: the time in a row, the same for all sessions.
 * `muster.clock` cannot stand still: it is an offset to a clock that goes on between the two
 * statements.
 */
export class SteppedClock implements Clock {
  private constructor(
    private readonly pool: Pool,
    private at: number,
  ) {}

  static async create(pool: Pool): Promise<SteppedClock> {
    const at = Math.floor(Date.now() / 1_000) * 1_000;
    await pool.query('create table stepped_clock as select to_timestamp($1::float8 / 1000) as at', [at]);
    await pool.query(
      'create or replace function clock() returns timestamptz stable language sql as $$ select (select at from stepped_clock) $$',
    );
    return new SteppedClock(pool, at);
  }
  attach(pool: Pool): Pool {
    return pool;
  }
  unixMs(): Promise<number> {
    return Promise.resolve(this.at);
  }
  async set(unixMs: number): Promise<void> {
    this.at = unixMs;
    await this.pool.query('update stepped_clock set at = to_timestamp($1::float8 / 1000)', [unixMs]);
  }
}

/**
 * `muster.clock` in step with the skipping server, set whenever a session is taken from the pool of
 * a store whose clock sessions move (`letSessionsMoveClock`).
 */
export class FlowingClock implements Clock {
  constructor(private readonly env: TestWorkflowEnvironment) {}

  attach(pool: Pool): Pool {
    const take = pool.connect.bind(pool) as () => Promise<PoolClient>;
    const connect = async (): Promise<PoolClient> => {
      const session = await take();
      try {
        const offsetMs = (await this.env.currentTimeMs()) - Date.now();
        await session.query(`select set_config('muster.clock', $1, false)`, [`${offsetMs} milliseconds`]);
        return session;
      } catch (error) {
        session.release(true);
        throw error;
      }
    };
    pool.connect = connect as typeof pool.connect;
    // A statement alone takes a session of the pool's own.
    const query = async (...args: unknown[]): Promise<unknown> => {
      const session = await connect();
      try {
        return await (session.query.bind(session) as (...given: unknown[]) => Promise<unknown>)(...args);
      } finally {
        session.release();
      }
    };
    pool.query = query as typeof pool.query;
    return pool;
  }
  unixMs(): Promise<number> {
    return this.env.currentTimeMs();
  }
  set(): Promise<void> {
    return Promise.resolve();
  }
}
