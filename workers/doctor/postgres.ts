import { readDrift } from '../../postgres/migrating/drift';
import type { Drift } from '../../postgres/migrating/drift';
import { checkSchema } from '../../postgres/migrating/migrate';
import { endOf, holderOf, readOldestTransaction } from '../../postgres/operations/oldestTransaction';
import type { OldestTransaction } from '../../postgres/operations/oldestTransaction';
import { readServer } from '../../postgres/operations/server';
import type { ServerFacts } from '../../postgres/operations/server';
import type { Pool } from '../../postgres/pool';
import { isSkewed, SKEW_MS, skewOf } from '../../workflows/planning/clockSkew';
import { formatDuration } from '../../workflows/planning/duration';
import { isOldTransaction } from '../../workflows/planning/oldTransaction';
import type { Check } from './check';
import { failed, listed, look, ok, warning } from './check';

/** Free connections below which the next worker may not get its own. */
const FEW_FREE = 30;

/**
 * Looks at the database: the server, its connections and clock, the tables. Throws where the
 * server gives no session; a pooler that is in between may be why.
 */
export const checkPostgres = async (pool: Pool): Promise<Check[]> => {
  const begunMs = Date.now();
  const server = await readServer(pool);
  const answeredMs = Date.now();
  return [
    serverCheck(server),
    connectionsCheck(server),
    clockCheck(server.clockMs, begunMs, answeredMs),
    await look('transactions', async () => transactionsCheck(await readOldestTransaction(pool))),
    await look('tables', () => tablesCheck(pool)),
  ];
};

export const serverCheck = ({ version, isReplica }: Pick<ServerFacts, 'version' | 'isReplica'>): Check =>
  isReplica
    ? failed('postgres', `version ${version}, a replica, which takes no changes`, 'Give the URL of the primary.')
    : ok('postgres', `version ${version}`);

export const connectionsCheck = ({
  connections,
  maxConnections,
}: Pick<ServerFacts, 'connections' | 'maxConnections'>): Check => {
  const says = `${connections} of ${maxConnections} in use`;
  return maxConnections - connections < FEW_FREE
    ? warning(
        'connections',
        says,
        'A worker takes 21 by default: raise max_connections, lower --max-connections, or use a pooler.',
      )
    : ok('connections', says);
};

/** By the clock of the server alone what is due is decided; logs have that of their process. */
export const clockCheck = (clockMs: number, begunMs: number, answeredMs: number): Check => {
  const skewMs = skewOf(clockMs, begunMs, answeredMs);
  return isSkewed(skewMs)
    ? warning(
        'clocks',
        `this machine's and the database's differ by ${(skewMs / 1_000).toFixed(1)} s`,
        'Synchronize both (NTP). Tasks go by the clock of the database, log lines by that of their process.',
      )
    : ok('clocks', `this machine's and the database's differ by less than ${SKEW_MS / 1_000} s`);
};

/** An old one keeps dead rows in the queues, and unused targets. */
export const transactionsCheck = (oldest: OldestTransaction | null): Check => {
  if (oldest === null) return ok('transactions', 'none is open');
  const { seconds, transactions } = oldest;
  const since = seconds === null ? `${transactions} transactions` : formatDuration(seconds * 1_000);
  const says = `${holderOf(oldest)} has had one open for ${since}`;
  if (!isOldTransaction(seconds, transactions)) return ok('transactions', says);
  return warning(
    'transactions',
    says,
    `Vacuum cannot remove what was deleted since: claims become slower, and unused targets stay. ${endOf(oldest)}`,
  );
};

const tablesCheck = async (pool: Pool): Promise<Check> => {
  const newer = await checkSchema(pool);
  return newer.length === 0
    ? driftCheck(await readDrift(pool))
    : ok('tables', `of a newer version (${newer.join(', ')}), which this program supports`);
};

export const driftCheck = ({ missing, changed }: Drift): Check => {
  const all = [...missing.map((name) => `${name} is missing`), ...changed.map((name) => `${name} differs`)];
  if (all.length === 0) return ok('tables', 'of this version');
  return warning(
    'tables',
    `not as the migrations made them: ${listed(all)}`,
    'Restore them as a store has them that `muster migrate` made anew: an index that is missing makes claims slow, ' +
      'and the rest may make them wrong.',
  );
};
