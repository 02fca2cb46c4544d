import { readPooler } from '../../postgres/operations/pooler';
import type { PoolerFacts } from '../../postgres/operations/pooler';
import { createPool, readUrl } from '../../postgres/pool';
import type { Check } from './check';
import { failed, ok, warning } from './check';

const ADD_FLAG =
  'Add ?pgbouncer=true to the database URL of workers, API and clients. Without it, what one statement sets in a ' +
  'session is lost with the next. muster migrate needs the URL of the server itself.';

const IF_SHARED =
  'If it lends a session per transaction, add ?pgbouncer=true to the database URL of workers, API and clients. One ' +
  'that lends a session per connection needs nothing.';

/** Judges what is between: `isSet`: the URL says `pgbouncer=true`. */
export const poolerCheck = ({ isBetween, isShared }: PoolerFacts, isSet: boolean): Check => {
  if (!isBetween)
    return ok('pooler', isSet ? 'none recognized; without one, leave ?pgbouncer=true out' : 'none in between');
  const says = isShared ? 'in between, lends a session per transaction' : 'in between, no session was seen twice';
  if (!isSet) return isShared ? failed('pooler', says, ADD_FLAG) : warning('pooler', says, IF_SHARED);
  return ok('pooler', `${says}: all works but muster migrate, which needs the server itself`);
};

/** Looks for a pooler with connections that none refuses, whatever the URL says. */
export const checkPooler = async (databaseUrl: string): Promise<Check> => {
  const { url, isPooler } = readUrl(databaseUrl);
  const behind = new URL(url);
  behind.searchParams.set('pgbouncer', 'true');
  const pool = createPool({ databaseUrl: behind.href, max: 2, applicationName: 'muster doctor' });
  try {
    return poolerCheck(await readPooler(pool), isPooler);
  } finally {
    await pool.end();
  }
};
