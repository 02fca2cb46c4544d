import pg from 'pg';
import { NoAnswerError } from './errors';

/**
 * A statement may be without an answer for so long before the server is asked whether it is at work
 * on it, and between two such questions.
 */
export const DOUBT_MS = 5_000;

export interface SessionConfig extends pg.ClientConfig {
  /** A statement without an answer for so long costs the session its connection. */
  answerWithinMs?: number;
  /**
   * Told of a session whose statement has been without an answer for `DOUBT_MS`: it may be lost, or
   * the server at work.
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
 * A connection that gives itself up when the server leaves a statement unanswered: a server that
 * hangs, or a way to it that is cut without a sign, would be waited for until TCP gives up, which
 * takes a quarter of an hour. Everything that waits on it then fails at once, a COPY too.
 */
export class Session extends pg.Client {
  /** To be above what the server itself allows a statement. */
  answerWithinMs: number;
  /**
   * Since when the last statement has been without an answer (`performance.now()`); null: nothing
   * is awaited.
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
    // The driver says so after each statement that leaves none behind it.
    this.on('drain', () => this.rest());
    this.on('end', () => this.rest());
  }

  /** Fails everything that waits on the connection at once. */
  giveUp(afterMs: number): void {
    this.connection.stream.destroy(new NoAnswerError(afterMs));
  }

  /** Of the server's process; undefined: not connected. */
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
