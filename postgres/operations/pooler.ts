import type { Pool } from '../pool';

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
export const readPooler = async (pool: Pool): Promise<PoolerFacts> => {
  const [one, two] = await Promise.all([pool.connect(), pool.connect()]);
  const sessionOf = async (client: typeof one): Promise<number> => {
    const { rows } = await client.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' });
    return rows[0]!.pid;
  };
  try {
    const { processID } = one as unknown as { processID: number }; // of the driver, not of its types
    const isBetween = (await sessionOf(one)) !== processID;
    let isShared = false;
    for (let turn = 0; isBetween && !isShared && turn < TURNS; turn += 1)
      isShared = (await sessionOf(one)) === (await sessionOf(two));
    return { isBetween, isShared };
  } finally {
    one.release();
    two.release();
  }
};
