import { verifyStore } from '../../postgres/operations/verify';
import { checkWhole } from '../arguments';
import type { ClientContext } from '../context';
import { InvalidArgumentError } from '../errors';
import type { Verification } from '../views';

/** Options of `verify`. */
export interface VerifyOptions {
  /**
   * Check every row of the store, which takes minutes for many millions of tasks; default: false.
   */
  full?: boolean;
  /**
   * Without `full`: roughly how many rows of each table to check, half of them the newest and half
   * in random places. 100 to 1,000,000; default 5,000.
   */
  rows?: number;
}

const ROWS = 5_000;

/**
 * Runs one statement per invariant, which returns the rows that violate it at one instant. A state
 * that a running system passes through (a commit whose ring is yet to come) is checked twice before
 * it counts. Each check says how much of a large table it has read (`looked`).
 */
export const verify = async (client: ClientContext, options: VerifyOptions = {}): Promise<Verification> => {
  const { full = false } = options;
  if (typeof full !== 'boolean') throw new InvalidArgumentError('full', 'true or false', full);
  const rows = checkWhole('rows', options.rows ?? ROWS, 100, 1_000_000);
  await client.ready();
  const checks = await verifyStore(client.pool, { rows: full ? null : rows });
  return {
    ok: checks.every(({ violations }) => violations.length === 0),
    full: checks.every(({ looked }) => looked === null),
    checks,
  };
};
