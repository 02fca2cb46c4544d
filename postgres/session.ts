import pg from 'pg';
import { NoAnswerError } from './errors';

export interface SessionConfig extends pg.ClientConfig {
  /** A statement without an answer for so long costs the session its connection. */
  answerWithinMs?: number;
  /** Statements are not prepared under a name: behind a pooler the next one may reach another session. */
  unnamed?: boolean;
}
type Run = (...args: unknown[]) => unknown;

/**
 * A connection that gives itself up when the server leaves a statement unanswered: a server that hangs, or a way to it that is cut without
 * a sign, would be waited for until TCP gives up, which takes a quarter of an hour. Everything that waits on it then fails at once, a COPY too.
 */
export class Session extends pg.Client {
  /** To be above what the server itself allows a statement. */
  answerWithinMs: number;
  private timer: NodeJS.Timeout | undefined;

  constructor(config: SessionConfig = {}) {
    super(config);
    this.answerWithinMs = config.answerWithinMs ?? 0;
    const run = this.query.bind(this) as Run;
    this.query = ((query: unknown, ...rest: unknown[]) => {
      this.watch();
      return run(config.unnamed === true && isNamed(query) ? { ...query, name: undefined } : query, ...rest);
    }) as typeof this.query;
    // The driver says so after each statement that leaves none behind it.
    this.on('drain', () => this.rest());
    this.on('end', () => this.rest());
  }

  private watch(): void {
    this.rest();
    const ms = this.answerWithinMs;
    if (ms > 0) this.timer = setTimeout(() => this.connection.stream.destroy(new NoAnswerError(ms)), ms);
  }

  private rest(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}

const isNamed = (query: unknown): query is pg.QueryConfig =>
  typeof (query as { name?: unknown } | null)?.name === 'string';
