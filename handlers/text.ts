import { inspect } from 'node:util';

/** Most characters of an error text that are kept for a call or a task. */
export const ERROR_CHARACTERS_MAX = 2_000;

/**
 * Cuts text to at most `max` characters, and makes it storable in Postgres: NUL and half surrogates
 * become U+FFFD.
 */
export function cutText(text: string, max = ERROR_CHARACTERS_MAX): string {
  const kept = text.length > max ? `${text.slice(0, max - 1)}…` : text;
  // The round trip through a buffer also releases the original string, which a slice would keep in
  // memory.
  return kept !== text || /[\0\ud800-\udfff]/.test(kept)
    ? Buffer.from(kept.replaceAll('\0', '\ufffd')).toString()
    : kept;
}

/**
 * Says whether Postgres can store the text as it is: it has neither U+0000 nor half a surrogate
 * pair.
 */
export const isStorableText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Formats any value as evidence in a message, cut to `max` characters. Never throws. */
export function show(value: unknown, max = 160): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'string') return cutText(JSON.stringify(value.slice(0, max)), max);
  try {
    return cutText(inspect(value, { depth: 3, maxArrayLength: 5, maxStringLength: 100, breakLength: Infinity }), max);
  } catch {
    return `a ${typeof value} that cannot be shown`;
  }
}

const CAUSES_MAX = 3;

/**
 * Describes a thrown value with its causes: `TypeError: fetch failed (cause: connect ECONNREFUSED
 * 127.0.0.1:9)`. Never throws.
 */
export function describeThrown(thrown: unknown, depth = 0): string {
  if (typeof thrown !== 'object' || thrown === null) return cutText(`thrown: ${show(thrown)}`);
  try {
    const { name, message, code, cause, errors } = thrown as Partial<Error> & { code?: unknown; errors?: unknown };
    const named = name === undefined || name === 'Error' ? '' : `${name}: `;
    let text = typeof message === 'string' && message !== '' ? named + message : String(name ?? show(thrown));
    if (typeof code === 'string' && !text.includes(code)) text += ` [${code}]`;
    const inner = cause ?? (Array.isArray(errors) ? (errors[0] as unknown) : undefined);
    const why = inner === undefined || depth === CAUSES_MAX ? '' : describeThrown(inner, depth + 1);
    // A wrapping error often repeats its cause's message.
    return cutText(why === '' || text.includes(why) ? text : `${text} (cause: ${why})`);
  } catch {
    return 'an error that cannot be read';
  }
}
