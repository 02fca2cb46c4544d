import { inspect } from 'node:util';

/** Longest error text that is kept of a call or a task. */
export const ERROR_CHARACTERS_MAX = 2_000;

/**
 * Cuts text to at most `max` characters, storable as Postgres text: NUL and half surrogates become
 * U+FFFD.
 */
export function cutText(text: string, max = ERROR_CHARACTERS_MAX): string {
  const kept = text.length > max ? `${text.slice(0, max - 1)}…` : text;
  // The round trip through a buffer also lets go of the parent string, which `slice` would keep
  // alive.
  return kept !== text || /[\0\ud800-\udfff]/.test(kept)
    ? Buffer.from(kept.replaceAll('\0', '\ufffd')).toString()
    : kept;
}

/** Says whether Postgres can hold it as it is: neither U+0000 nor half a surrogate pair. */
export const isStorableText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Returns a value as evidence in a message: short, bounded whatever it is, never throwing. */
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
 * Describes what was thrown, with its causes: `TypeError: fetch failed (cause: connect ECONNREFUSED
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
