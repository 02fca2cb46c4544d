import { cutText, describeThrown } from './text';
import { depthOf } from '../workflows/planning/jsonText';

/** Most bytes of one result as JSON. */
export const RESULT_BYTES_MAX = 1_000_000;
/** Most bytes of all results of one batch as JSON. */
const BATCH_RESULT_BYTES_MAX = 1_000_000_000;
/**
 * Most levels of nesting in one result. Postgres and JSON.stringify both recurse, so neither
 * accepts every depth.
 */
export const RESULT_LEVELS_MAX = 500;

/** A value in a form that Postgres and every reader of its JSON can hold. */
export interface Storable {
  json: string;
  /** Length of `json` in UTF-8. */
  bytes: number;
  /** What differs from the given value; null: nothing. */
  note: string | null;
}

export interface ResultLimits {
  resultBytes: number;
  batchBytes: number;
  levels: number;
}
export const RESULT_LIMITS: ResultLimits = {
  resultBytes: RESULT_BYTES_MAX,
  batchBytes: BATCH_RESULT_BYTES_MAX,
  levels: RESULT_LEVELS_MAX,
};

/**
 * Converts a value from outside into storable JSON. Characters that Postgres refuses become U+FFFD.
 * A value that cannot be stored at all becomes JSON `null`, with the reason as the note. Returns
 * null for a value that has no JSON (undefined, a function). Never throws.
 */
export const toStorable = (value: unknown, limits: ResultLimits = RESULT_LIMITS): Storable | null => {
  let written: string | undefined;
  try {
    written = JSON.stringify(value);
  } catch (error) {
    return leftOut(`it cannot be written as JSON (${describeThrown(error)})`);
  }
  if (written === undefined) return null;
  if (!UNSTORABLE.test(written)) return bounded(written, null, limits);
  const { json, replaced } = withoutUnstorable(written);
  return bounded(json, replaced === 0 ? null : noteOf(replaced), limits);
};

const bounded = (json: string, note: string | null, limits: ResultLimits): Storable => {
  const bytes = Buffer.byteLength(json);
  if (bytes > limits.resultBytes) return leftOut(`${bytes} bytes of JSON, the limit is ${limits.resultBytes}`);
  if (depthOf(json, limits.levels) > limits.levels) return leftOut(`more than ${limits.levels} levels of nesting`);
  return { json, bytes, note };
};

export const leftOut = (why: string): Storable => ({ json: 'null', bytes: 4, note: cutText(`left out: ${why}`, 500) });

const noteOf = (replaced: number): string =>
  `${replaced} ${replaced === 1 ? 'character' : 'characters'} replaced by U+FFFD: U+0000 and half surrogate pairs cannot be stored`;

/**
 * Matches escapes as JSON.stringify writes them. NUL and half surrogates are always written as
 * escapes. An escaped backslash is matched as a whole, so that it hides nothing.
 */
const ESCAPES = /\\(?:(u0000|ud[89a-f][0-9a-f]{2})|[^])/g;

/** Matches every text in which `ESCAPES` may find something to replace. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;

const withoutUnstorable = (json: string): { json: string; replaced: number } => {
  let replaced = 0;
  const clean = json.replace(ESCAPES, (escape, unstorable: string | undefined) => {
    if (unstorable === undefined) return escape;
    replaced++;
    return '\ufffd';
  });
  return { json: clean, replaced };
};
