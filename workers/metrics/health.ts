import type { Pool } from '../../postgres/pool';
import type { OverdueWork } from '../../postgres/sweeper/overdueWork';
import { readOverdueWork } from '../../postgres/sweeper/overdueWork';
import { readUnanswered } from '../../postgres/sweeper/unanswered';
import { formatDuration } from '../../workflows/planning/duration';
import { DATABASE_SILENT_MS, POLL_AWAY_MS, TEMPORAL_SILENT_MS, UNANSWERED_MS } from '../../workflows/planning/liveness';
import type { PollWatch } from './pollWatch';
import { SinceError } from './pollWatch';

/**
 * Reports whether this process works, part by part. A short hiccup of a server is tolerated;
 * stalled work is not.
 */

export interface PartHealth {
  part: 'database' | 'temporal' | 'workers' | 'polls' | 'turns';
  healthy: boolean;
  /**
   * ISO time; null: nothing is wrong with it. Within its tolerance a part may be healthy although
   * it fails.
   */
  failingSince: string | null;
  error: string | null;
}

export interface HealthReport {
  healthy: boolean;
  parts: PartHealth[];
}

export interface HealthOptions {
  pool: Pool;
  /**
   * A cheap request to Temporal over the connection of the workers; rejects if there is no answer
   * in time. Left out: none is used.
   */
  askTemporal?: () => Promise<unknown>;
  /** Watches the workers' polls. */
  polls?: PollWatch | undefined;
  /** Rejects, or throws, if a worker of this process has failed. */
  checkWorkers?: () => void;
  /** For tests. */
  silentMs?: { database?: number; temporal?: number };
}

const EVERY_MS = 5_000;
/** A request is given up after this. */
const GIVE_UP_MS = 2_000;

/**
 * Asked every 5 s, so that the age of the last answer is known, and again for each caller of
 * `/healthz`.
 */
export class Health {
  private readonly parts: Part[];
  private readonly timer: NodeJS.Timeout;
  private checking: Promise<void> | null = null;

  constructor({ pool, askTemporal, checkWorkers, polls, silentMs = {} }: HealthOptions) {
    const isAlive = (): Promise<unknown> => pool.query({ name: 'is-alive', text: 'select 1' });
    const database = new Part('database', silentMs.database ?? DATABASE_SILENT_MS, isAlive, 'Postgres');
    // The tolerance for an unanswered wake is in the statement. A refusing database is another
    // part's fault; while one gives no answer, it is unknown what has stalled, and this is not
    // called healthy.
    const askTurns = async (): Promise<void> => {
      const what = await whatStandsStill(pool).catch(() => null);
      if (what !== null) throw new Error(`${what}; muster status names all`);
    };
    const turns = new Part('turns', 0, askTurns, 'Postgres');
    this.parts = [database, turns];
    if (askTemporal !== undefined)
      this.parts.push(
        new Part('temporal', silentMs.temporal ?? TEMPORAL_SILENT_MS, askTemporal, 'Temporal', (forMs) => {
          if (forMs >= POLL_AWAY_MS) polls?.sayAway();
        }),
      );
    if (checkWorkers !== undefined) this.parts.push(new Part('workers', 0, async () => checkWorkers(), 'this process'));
    if (polls !== undefined) this.parts.push(new Part('polls', 0, () => polls.check(), 'this process'));
    this.timer = setInterval(() => void this.check(), EVERY_MS);
    this.timer.unref();
    void this.check();
  }

  async report(): Promise<HealthReport> {
    await this.check();
    const parts = this.parts.map((part) => part.health());
    return { healthy: parts.every(({ healthy }) => healthy), parts };
  }

  /** Returns the seconds since the last good answer, by part. */
  silence(): { part: string; seconds: number; healthy: boolean }[] {
    return this.parts.map((part) => ({
      part: part.name,
      seconds: part.silentMs() / 1_000,
      healthy: part.health().healthy,
    }));
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private check(): Promise<void> {
    this.checking ??= Promise.all(this.parts.map((part) => part.check()))
      .then(() => undefined)
      .finally(() => (this.checking = null));
    return this.checking;
  }
}

/** Returns the work that has been stalled the longest, or null. */
const whatStandsStill = async (pool: Pool): Promise<string | null> => {
  const [woken] = await readUnanswered(pool, UNANSWERED_MS, 1);
  if (woken !== undefined) {
    const { kind, id, name, handler, ms } = woken;
    const who = kind === 'queuer' ? `queuer ${id}` : `leader "${name}" of handler "${handler}"`;
    return `${who} was woken ${formatDuration(ms)} ago and has taken no turn since`;
  }
  const [overdue] = await readOverdueWork(pool, 1);
  if (overdue === undefined) return null;
  return `${whoHas(overdue)} has had overdue work for ${formatDuration(overdue.ms)} and has given no sign of it since`;
};

const whoHas = ({ kind, name, handlers, givenBy }: OverdueWork): string => {
  if (givenBy === null) return `${kind}${name === '' ? '' : ` "${name}"`}`;
  const giver = givenBy.leader === null ? `queuer ${givenBy.id}` : `leader "${givenBy.leader}"`;
  return `${kind} of batch ${name} of ${giver} of handler "${handlers[0]}"`;
};

class Part {
  private answeredAt = performance.now();
  private failingSince: Date | null = null;
  private error: string | null = null;

  constructor(
    readonly name: PartHealth['part'],
    /** A part that has failed for less than this counts as healthy. */
    private readonly graceMs: number,
    private readonly ask: () => Promise<unknown>,
    /** Which server is asked. */
    private readonly whom: 'Postgres' | 'Temporal' | 'this process',
    /** Called for each request that fails, and for how long they have. */
    private readonly onSilence: (forMs: number) => void = () => undefined,
  ) {}

  async check(): Promise<void> {
    try {
      await inTime(this.ask, this.whom);
      this.answeredAt = performance.now();
      this.failingSince = null;
      this.error = null;
    } catch (error) {
      this.failingSince ??= error instanceof SinceError ? error.since : new Date();
      this.error = error instanceof Error ? error.message : String(error);
      this.onSilence(this.silentMs());
    }
  }

  silentMs(): number {
    return this.failingSince === null ? 0 : performance.now() - this.answeredAt;
  }

  health(): PartHealth {
    const healthy = this.failingSince === null || this.silentMs() < this.graceMs;
    return { part: this.name, healthy, failingSince: this.failingSince?.toISOString() ?? null, error: this.error };
  }
}

const inTime = async (ask: () => Promise<unknown>, whom: string): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${whom} gave no answer within ${GIVE_UP_MS} ms`)), GIVE_UP_MS);
  });
  try {
    await Promise.race([ask(), late]);
  } finally {
    clearTimeout(timer);
  }
};

/** Says whether the database answers now; false too if no connection is to be had in time. */
export const answers = (pool: Pool): Promise<boolean> =>
  inTime(() => pool.query({ name: 'is-alive', text: 'select 1' }), 'Postgres').then(
    () => true,
    () => false,
  );
