import { depthOf, fieldAt, MAX_JSON_DEPTH } from '../../workflows/planning/jsonText';
import { describeThrown, isStorableText, show } from '../text';

/**
 * Checks the checkpoint of a partition that a handler stores, and has the errors by which it is
 * refused.
 */

/** Most bytes of one checkpoint as JSON. */
export const CHECKPOINT_BYTES_MAX = 4_096;

/** The checkpoint cannot be stored. Nothing was written, and the last checkpoint stays. */
export class InvalidCheckpointError extends Error {
  override readonly name = 'InvalidCheckpointError';
  constructor(
    /** The field that is wrong: `checkpoint`, or a place in it such as `checkpoint.cursor[0]`. */
    readonly field: string,
    what: string,
  ) {
    super(`Cannot store the checkpoint: ${field}: ${what}`);
  }
}

/**
 * This process no longer holds the partition under the call's epoch, because another node holds it
 * or the lease has expired. Nothing was written. End the call; the next holder continues.
 */
export class PartitionLostError extends Error {
  override readonly name = 'PartitionLostError';
  constructor(
    /** `<handler>/<no>`. */
    readonly partition: string,
    readonly epoch: number,
  ) {
    super(
      `Cannot use the checkpoint of partition ${partition}: this process no longer holds it under epoch ${epoch}. ` +
        'Nothing was written. End the call; the next holder goes on from the last checkpoint.',
    );
  }
}

/**
 * Returns a checkpoint as JSON text that Postgres and every reader can hold. Unlike in a result,
 * nothing is replaced or left out, since the next holder must read exactly what was written.
 *
 * @throws InvalidCheckpointError that names the field.
 */
export const checkpointJson = (value: unknown): string => {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    // A value that is nested thousands of levels deep exhausts the stack of `JSON.stringify`.
    throw refused(error instanceof RangeError ? TOO_DEEP : `${NO_JSON}, got ${describeThrown(error)}`);
  }
  if (json === undefined) throw refused(`${NO_JSON}, got ${show(value)}`);
  const bytes = Buffer.byteLength(json);
  if (bytes > CHECKPOINT_BYTES_MAX)
    throw refused(
      `expected at most ${CHECKPOINT_BYTES_MAX} bytes of JSON, got ${bytes}. Store the state elsewhere; refer to it.`,
    );
  if (depthOf(json) > MAX_JSON_DEPTH) throw refused(TOO_DEEP);
  const path = unstorable(JSON.parse(json));
  if (path !== null)
    throw refused('expected text without U+0000 and half surrogate pairs, which cannot be stored', path);
  return json;
};

const NO_JSON = 'expected a value that can be written as JSON';
const TOO_DEEP = `expected at most ${MAX_JSON_DEPTH} levels of arrays and objects. Flatten it.`;

type Path = (string | number)[];

const refused = (what: string, path: Path = []): InvalidCheckpointError =>
  new InvalidCheckpointError(fieldAt(['checkpoint', ...path]), what);

/** Returns the place of a text or a member's name that cannot be stored; null: there is none. */
const unstorable = (value: unknown): Path | null => {
  if (typeof value === 'string') return isStorableText(value) ? null : [];
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, member] of Object.entries(value)) {
    if (!isStorableText(key)) return [JSON.stringify(key)];
    const path = unstorable(member);
    if (path !== null) return [Array.isArray(value) ? Number(key) : key, ...path];
  }
  return null;
};
