import type { Client, Pool } from './pool';
import { inTransaction } from './pool';

const STATEMENT_TIMEOUT_MS = 600_000;

/**
 * Runs several reads of one instant: REPEATABLE READ, read only. For reports over whole tables, so
 * sequential scans are allowed here and the statement timeout is longer than that of the protocol's
 * statements.
 */
export const inSnapshot = <T>(pool: Pool, work: (client: Client) => Promise<T>): Promise<T> =>
  inTransaction(
    pool,
    async (client) => {
      await client.query(
        `select set_config('enable_seqscan', 'on', true), set_config('statement_timeout', '${STATEMENT_TIMEOUT_MS}',
          true), set_config('work_mem', '64MB', true)`,
      );
      return work(client);
    },
    'begin isolation level repeatable read read only',
    STATEMENT_TIMEOUT_MS,
  );
