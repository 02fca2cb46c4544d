import pg from 'pg';
import { isSilence } from './errors';
import type { Session } from './session';
import { DOUBT_MS } from './session';

/** Longest that asking the server may take: one connection and one short read. */
const ASKING_MS = 5_000;

/**
 * Failed questions in a row after which a session counts as lost as well: its caller gets an error
 * within some 20 s.
 */
const MOST_SILENCES = 2;

/**
 * Sessions whose backend is idle or gone. A role sees the state only of its own sessions; other
 * sessions show none.
 */
const LOST = `
select d.pid
from unnest($1::int[]) d (pid) left join pg_stat_activity a on a.pid = d.pid
where a.pid is null or a.state like 'idle%' and a.state_change < clock_timestamp() - interval '1 s'`;

/**
 * Finds the sessions of one pool that are lost: their statement never reached the server, or its
 * answer never came back, as after a network path was cut silently. The server is asked over a
 * separate connection, one beyond the pool's limit. A backend that is still at work is waited for;
 * any other session is given up at once, instead of at the end of the statement's timeout. So is a
 * session during whose wait the server left two questions in a row without any answer. Its backend
 * may be at work all the same, on a machine too busy to take connections: the error says that the
 * outcome is unknown, or the server rolls it back. A server that refuses a connection is reachable,
 * and decides nothing.
 */
export class Doubts {
  private readonly doubted = new Set<Session>();
  private asking = false;

  constructor(
    private readonly url: string,
    private readonly onLost: () => void,
  ) {}

  /** Adds a session whose statement has been without an answer for `DOUBT_MS`. */
  add(session: Session): void {
    this.doubted.add(session);
    if (this.asking) return;
    this.asking = true;
    void this.ask().finally(() => {
      this.asking = false;
    });
  }

  private async ask(): Promise<void> {
    const silences = new WeakMap<Session, { since: number; times: number }>();
    for (;;) {
      const waiting = [...this.doubted].filter((session) => session.waitsSince !== null);
      this.doubted.clear();
      if (waiting.length === 0) return;
      const asked = waiting.map((session) => ({ session, since: session.waitsSince!, pid: session.pid ?? 0 }));
      const lost = await askLost(
        this.url,
        asked.map(({ pid }) => pid),
      );
      // A session that got its answer meanwhile, or waits for another statement by now, was not
      // lost.
      const still = asked.filter(({ session, since }) => session.waitsSince === since);
      const gone = still.filter(({ session, since, pid }) => {
        if (lost !== 'silence') silences.delete(session);
        if (lost !== 'silence') return lost.has(pid);
        const before = silences.get(session);
        const times = before?.since === since ? before.times + 1 : 1;
        silences.set(session, { since, times });
        return times >= MOST_SILENCES;
      });
      for (const { session, since } of gone) session.giveUp(Math.round(performance.now() - since));
      if (gone.length > 0) this.onLost();
      for (const one of still) if (!gone.includes(one)) this.doubted.add(one.session);
      await new Promise((resolve) => setTimeout(resolve, DOUBT_MS).unref());
    }
  }
}

/**
 * Returns the lost sessions; none where the server, or a proxy in between, refuses the question for
 * now.
 */
const askLost = async (url: string, pids: readonly number[]): Promise<ReadonlySet<number> | 'silence'> => {
  try {
    return await readLost(url, pids);
  } catch (error) {
    return isSilence(error) ? 'silence' : new Set();
  }
};

const readLost = async (url: string, pids: readonly number[]): Promise<Set<number>> => {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'muster-doubts',
    connectionTimeoutMillis: ASKING_MS,
    query_timeout: ASKING_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ pid: number }>({ text: LOST, values: [pids] });
    return new Set(rows.map(({ pid }) => pid));
  } finally {
    void client.end().catch(() => undefined);
    client.connection.stream.destroy(); // its goodbye may never arrive, and the socket would stay
  }
};
