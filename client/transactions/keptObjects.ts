import { objectKeyOf } from '../../handlers/codec/envelope';
import type { Note } from '../../handlers/codec/claimCheck';
import type { Sealer } from '../../handlers/codec/sealer';
import { withRetries } from '../../postgres/errors';
import type { Pool, Queryable } from '../../postgres/pool';
import { abandonObjects, noteObjects, strikeOffObjects } from '../../postgres/unneededObject';
import { MusterError } from '../errors';

/**
 * How long a submit may take from its encoding to its commit; then its objects may be deleted, and
 * it is refused.
 */
const KEPT_MS = 3_600_000;

/**
 * Returns what writes objects down, in a separate commit, before they are stored: a submit that is
 * refused, repeated or lost leaves none behind. Undefined: the store cannot delete.
 */
export const noting = (registry: Pool, sealer: Sealer | null): Note | undefined =>
  sealer?.deletesObjects === true ? (keys) => withRetries(() => noteObjects(registry, keys, KEPT_MS)) : undefined;

/**
 * Strikes the objects of stored payloads off those to be deleted, in the transaction that has
 * stored them.
 *
 * @throws MusterError with code CODEC_FAILED for an object whose deletion has begun: nothing of
 *   this transaction may be committed.
 */
export const keepObjects = async (db: Queryable, sealer: Sealer | null, payloads: readonly string[]): Promise<void> => {
  if (sealer?.deletesObjects !== true) return;
  const keys = payloads.flatMap((payload) => objectKeyOf(payload) ?? []);
  if (keys.length === 0) return;
  const kept = await strikeOffObjects(db, keys);
  if (kept < keys.length)
    throw new MusterError(
      'CODEC_FAILED',
      `Cannot store ${keys.length - kept} of ${keys.length} large payloads: expected a commit within ` +
        `${KEPT_MS / 60_000} minutes of the submit, got a later one. Submit again: nothing was accepted.`,
    );
};

/** Shortest time for which an object is kept to which nothing refers: it may be read just now. */
const READ_MS = 600_000;

/** Gives up the objects of payloads that others have replaced, in the transaction that did so. */
export const dropObjects = async (
  db: Queryable,
  sealer: Sealer | null,
  handlerId: number,
  replaced: readonly string[],
): Promise<void> => {
  if (sealer?.deletesObjects !== true) return;
  const keys = replaced.flatMap((payload) => objectKeyOf(payload) ?? []);
  if (keys.length > 0) await abandonObjects(db, keys, { handlerId, ms: READ_MS });
};
