import type { Client, Pool } from '../pool';
import type { Session } from '../session';

/** What is between this process and the server. */
export interface PoolerFacts {
  /** The sessions of the server are not those that this process was told of. */
  isBetween: boolean;
  /** Two connections had the same session in turns: it is lent per transaction. */
  isShared: boolean;
}

/** A session that another program takes just then is not seen again at once. */
const TURNS = 5;

/**
 * Returns whether a pooler is in between, and whether it lends sessions per transaction. A pooler
 * gives each client another key to cancel by, in place of the server's: it names no session.
 * `pool`: of two connections, which send nothing that a pooler refuses.
 */
export const readPooler = async (pool: Pool): Promise<PoolerFacts> =>
  withConnection(pool, (one) => withConnection(pool, (two) => compare(one, two)));

const compare = async (one: Client, two: Client): Promise<PoolerFacts> => {
  const { pid } = one as Client & Pick<Session, 'pid'>;
  let isBetween = false;
  let isShared = false;
  for (let turn = 0; !isShared && turn < TURNS; turn += 1) {
    const session = await sessionOf(one);
    isBetween ||= session !== pid;
    isShared = session === (await sessionOf(two));
  }
  return { isBetween: isBetween || isShared, isShared };
};

const sessionOf = async (client: Client): Promise<number> => {
  const { rows } = await client.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' });
  return rows[0]!.pid;
};

/** Gives the connection back in any case: a pool that is ended waits for all of them. */
const withConnection = async <T>(pool: Pool, work: (client: Client) => Promise<T>): Promise<T> => {
  const client = await pool.connect();
  try {
    return await work(client);
  } finally {
    client.release();
  }
};
