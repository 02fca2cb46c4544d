import { inCallersTransaction } from '../../postgres/callersTransaction';
import { isOutsideTransaction } from '../../postgres/errors';
import type { Queryable } from '../../postgres/pool';
import { InvalidArgumentError } from '../errors';

/**
 * Runs `work` inside the caller's transaction, on our tables.
 *
 * @throws InvalidArgumentError if none has begun there: nothing was done.
 */
export const joinTransaction = async <T>(
  tx: Queryable,
  schema: string,
  work: (db: Queryable) => Promise<T>,
): Promise<T> => {
  try {
    return await inCallersTransaction(tx, schema, work);
  } catch (error) {
    if (!isOutsideTransaction(error)) throw error;
    const got = 'a connection without one';
    throw new InvalidArgumentError('tx', 'a transaction that has begun', got, 'Begin it first. Nothing was accepted.');
  }
};
