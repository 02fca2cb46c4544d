import type { Pool } from '../../../../postgres/pool';

interface Sleeper {
  untilMs: number;
  wake: () => void;
}

/**
 * `clock()` of the store as a row that the test moves, and the simulated workflows' timers, which
 * follow it. Unix ms.
 */
export class Clock {
  private readonly sleepers = new Set<Sleeper>();
  private constructor(
    private readonly pool: Pool,
    private at: number,
  ) {}

  static async create(pool: Pool): Promise<Clock> {
    const at = Math.floor(Date.now() / 1_000) * 1_000;
    await pool.query('create table stepped_clock as select to_timestamp($1::float8 / 1000) as at', [at]);
    await pool.query(
      'create or replace function clock() returns timestamptz stable language sql as $$ select (select at from stepped_clock) $$',
    );
    return new Clock(pool, at);
  }

  nowMs(): number {
    return this.at;
  }

  /** The store's first, then the timers: one that fires never looks before its time. */
  async step(ms: number): Promise<void> {
    this.at += Math.ceil(ms);
    await this.pool.query('update stepped_clock set at = to_timestamp($1::float8 / 1000)', [this.at]);
    for (const sleeper of this.sleepers) if (sleeper.untilMs <= this.at) sleeper.wake();
  }

  /** When the next timer fires; null: there is none. */
  nextTimerMs(): number | null {
    const times = [...this.sleepers].map(({ untilMs }) => untilMs);
    return times.length === 0 ? null : Math.min(...times);
  }

  setTimer(ms: number, wake: () => void): () => void {
    const sleeper = { untilMs: this.at + ms, wake };
    this.sleepers.add(sleeper);
    return () => this.sleepers.delete(sleeper);
  }
}
