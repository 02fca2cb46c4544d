import type { Client, Pool } from './pool';

/**
 * Several reads of one instant: REPEATABLE READ, read only. For reports over whole tables, so sequential scans are allowed here and the
 * statement timeout is longer than that of the protocol's statements.
 */
export const inSnapshot = async <T>(pool: Pool, work: (client: Client) => Promise<T>): Promise<T> => {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin isolation level repeatable read read only');
    await client.query(
      "select set_config('enable_seqscan', 'on', true), set_config('statement_timeout', '10min', true), set_config('work_mem', '64MB', true)",
    );
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((rollbackError: Error) => {
      broken = rollbackError;
    });
    throw error;
  } finally {
    client.release(broken);
  }
};
