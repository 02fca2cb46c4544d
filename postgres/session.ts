import pg from 'pg';
import { NoAnswerError } from './errors';

/**
 * How long a statement may be without an answer before the server is asked whether it is working on
 * it, and between two such questions.
 */
export const DOUBT_MS = 5_000;

export interface SessionConfig extends pg.ClientConfig {
  /** A statement without an answer for so long costs the session its connection. */
  answerWithinMs?: number;
  /**
   * Called with a session whose statement has been without an answer for `DOUBT_MS`: it may be
   * lost, or the server may be working on it.
   */
  onDoubt?: ((session: Session) => void) | undefined;
  /**
   * Statements are not prepared under a name: behind a pooler the next one may reach another
   * session.
   */
  unnamed?: boolean;
}
type Run = (...args: unknown[]) => unknown;

/**
 * A connection that gives itself up when the server leaves a statement unanswered. A server that
 * hangs, or a network path that was cut silently, would otherwise be waited for until TCP gives up,
 * after a quarter of an hour. Everything that waits on the connection then fails at once, a COPY
 * too.
 */
export class Session extends pg.Client {
  /** Must be above what the server allows a statement. */
  answerWithinMs: number;
  /**
   * Since when the last statement has been without an answer (`performance.now()`); null: none is
   * awaited.
   */
  waitsSince: number | null = null;
  private readonly onDoubt: SessionConfig['onDoubt'];
  private timer: NodeJS.Timeout | undefined;
  private doubt: NodeJS.Timeout | undefined;

  constructor(config: SessionConfig = {}) {
    super(config);
    this.answerWithinMs = config.answerWithinMs ?? 0;
    this.onDoubt = config.onDoubt;
    const run = this.query.bind(this) as Run;
    this.query = ((query: unknown, ...rest: unknown[]) => {
      this.watch();
      return run(config.unnamed === true && isNamed(query) ? { ...query, name: undefined } : query, ...rest);
    }) as typeof this.query;
    // The driver emits this after each statement that leaves none behind it.
    this.on('drain', () => this.rest());
    this.on('end', () => this.rest());
  }

  /** Fails everything that waits on the connection at once. */
  giveUp(afterMs: number): void {
    this.connection.stream.destroy(new NoAnswerError(afterMs));
  }

  /** Process id of the server's backend; undefined: not connected. */
  get pid(): number | undefined {
    return (this as unknown as { processID?: number | null }).processID ?? undefined;
  }

  private watch(): void {
    this.rest();
    const ms = this.answerWithinMs;
    if (ms <= 0) return;
    this.waitsSince = performance.now();
    this.timer = setTimeout(() => this.giveUp(ms), ms);
    if (this.onDoubt !== undefined && ms > DOUBT_MS) this.doubt = setTimeout(() => this.onDoubt!(this), DOUBT_MS);
  }

  private rest(): void {
    clearTimeout(this.timer);
    clearTimeout(this.doubt);
    this.timer = undefined;
    this.waitsSince = null;
  }
}

const isNamed = (query: unknown): query is pg.QueryConfig =>
  typeof (query as { name?: unknown } | null)?.name === 'string';
