import type { SubmitAnswer } from '../../contract';
import { HaltError } from '../../errors';
import { describeThrown } from '../../text';
import { neverSent } from '../../thrown';

/**
 * What a code, or the class of a code, says: postgresql.org/docs/current/errcodes-appendix.html. An
 * error ends the transaction of its one statement, so that nothing of it was applied.
 */
const MEANINGS: Readonly<Record<string, 'later' | 'rejected' | 'halt'>> = {
  // Connections and resources: not now.
  '53': 'later',
  '57P03': 'later',
  '57014': 'later',
  // Serialization failures, deadlocks and locks.
  '40001': 'later',
  '40P01': 'later',
  '55P03': 'later',
  // A read-only server: a failover is under way.
  '25006': 'later',
  // Data, constraints, and what a trigger raises.
  '22': 'rejected',
  '23': 'rejected',
  P0001: 'rejected',
  // Credentials, databases, tables, columns, rights.
  '28': 'halt',
  '3D': 'halt',
  '3F': 'halt',
  '42': 'halt',
  '0A': 'halt',
};
/** Raised when a connection is made: the server has not seen the statement. */
const TIMED_OUT = 'timeout exceeded when trying to connect';

/**
 * Interprets what pg has thrown. Returns `later` or `rejected`, throws `HaltError`, or throws the
 * error as it came where the connection broke and the outcome is unknown.
 */
export function readRefusal(thrown: unknown): SubmitAnswer {
  const { code, message } = (thrown ?? {}) as { code?: unknown; message?: unknown };
  const state = typeof code === 'string' ? code : '';
  const error = describeThrown(thrown);
  if (neverSent(thrown) || message === TIMED_OUT) return { status: 'later', error };
  switch (/^[0-9A-Z]{5}$/.test(state) ? (MEANINGS[state] ?? MEANINGS[state.slice(0, 2)]) : undefined) {
    case 'later':
      return { status: 'later', error };
    case 'rejected':
      return { status: 'rejected', error };
    case 'halt':
      throw new HaltError(error);
    case undefined:
      throw thrown;
  }
}
