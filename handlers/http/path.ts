/**
 * The place of a value in JSON: keys and array indexes, from the outside in. `*` stands for the
 * only key of an object, whatever its name.
 */
export type Path = readonly string[];

/** Why a path cannot be parsed: a message that names the remedy. */
export interface BadPath {
  readonly bad: string;
}

const pointerSegments = (pointer: string): string[] =>
  pointer
    .slice(1)
    .split('/')
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));

/**
 * Parses a path such as `customer.id` or `items.0.id`, or a JSON pointer such as `/customer/id`,
 * which can name keys that contain a dot. '' is the whole value. `wildcard` allows `*`, for answers
 * such as Elasticsearch's `{"index": {...}}`.
 */
export function parsePath(text: string, wildcard = false): Path | BadPath {
  if (text === '') return [];
  if (text.startsWith('/')) {
    return /~(?![01])/.test(text)
      ? { bad: 'expected ~ in a JSON pointer to be written ~0, and / in a key ~1' }
      : pointerSegments(text);
  }
  if (/[[\]]/.test(text)) return { bad: 'expected array places between dots (items.0.id), got brackets' };
  const segments = text.split('.');
  if (segments.includes('')) return { bad: 'expected names with single dots between them (a.b.c), got an empty name' };
  if (/[\s{}\p{Cc}]/u.test(text))
    return { bad: 'expected no spaces or braces; write such a key as a JSON pointer (/my key)' };
  if (!wildcard && segments.includes('*'))
    return { bad: 'expected a name, got *, which stands for a single key in answers only' };
  return segments;
}

export const isBad = (path: Path | BadPath): path is BadPath => 'bad' in path;

const ARRAY_PLACE = /^(0|[1-9]\d*)$/;

/**
 * Returns the value at `path`, or undefined. Follows own properties only, never `__proto__` and the
 * like.
 */
export function readPath(value: unknown, path: Path): unknown {
  let found = value;
  for (const segment of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    if (Array.isArray(found)) {
      found = ARRAY_PLACE.test(segment) ? (found[Number(segment)] as unknown) : undefined;
    } else if (Object.hasOwn(found, segment)) {
      found = (found as Record<string, unknown>)[segment];
    } else {
      const keys: string[] = segment === '*' ? Object.keys(found) : [];
      found = keys.length === 1 ? (found as Record<string, unknown>)[keys[0]!] : undefined;
    }
  }
  return found;
}

/** Returns a setting of an unchecked configuration; undefined: it is not set. */
export const member = (raw: unknown, key: string): unknown =>
  typeof raw === 'object' && raw !== null && Object.hasOwn(raw, key)
    ? (raw as Record<string, unknown>)[key]
    : undefined;
