/**
 * Where a value is in JSON: keys and array places, from the outside in. `*` is the only key of an
 * object, whatever its name.
 */
export type Path = readonly string[];

/** Why a path cannot be read, as a message that names the remedy. */
export interface BadPath {
  readonly bad: string;
}

const pointerSegments = (pointer: string): string[] =>
  pointer
    .slice(1)
    .split('/')
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));

/**
 * Parses `customer.id`, `items.0.id`, or a JSON pointer `/customer/id` (the way to write a key that
 * has a dot). '' is the whole value. `wildcard` allows `*`, for answers such as Elasticsearch's
 * `{"index": {...}}`.
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
 * Returns the value at `path`, or undefined. Own properties only: `__proto__` and the like are
 * never followed.
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

/** Returns a setting of a configuration that was not checked yet. */
export const member = (raw: unknown, key: string): unknown =>
  typeof raw === 'object' && raw !== null && Object.hasOwn(raw, key)
    ? (raw as Record<string, unknown>)[key]
    : undefined;
