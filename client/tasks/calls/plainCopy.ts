import { MAX_JSON_DEPTH } from '../../../workflows/planning/jsonText';

/** Nothing: the value is not plain. */
export const NOT_PLAIN = Symbol('not plain');

/**
 * Copies a value that is JSON as it is, reading each part of it once: what its text says when it is
 * parsed again, at a fifth of the cost. Returns `NOT_PLAIN` for any other: one that JSON would
 * change (undefined, a Date, -0, a class), or that is nested too deep.
 */
export const plainCopy = (value: unknown, depth = 0): unknown => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0) ? value : NOT_PLAIN;
    case 'object':
      if (value === null) return value;
      if (depth >= MAX_JSON_DEPTH || 'toJSON' in value) return NOT_PLAIN;
      return Array.isArray(value) ? copyOfArray(value, depth) : copyOfObject(value, depth);
    default:
      return NOT_PLAIN;
  }
};

const copyOfArray = (value: readonly unknown[], depth: number): unknown => {
  const copy: unknown[] = [];
  for (let i = 0; i < value.length; i++) {
    const part = plainCopy(value[i], depth + 1);
    if (part === NOT_PLAIN) return NOT_PLAIN;
    copy.push(part);
  }
  return Object.getPrototypeOf(value) === Array.prototype ? copy : NOT_PLAIN;
};

const copyOfObject = (value: object, depth: number): unknown => {
  if (Object.getPrototypeOf(value) !== Object.prototype) return NOT_PLAIN;
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    if (name === '__proto__') return NOT_PLAIN; // it would be set as such
    const part = plainCopy((value as Record<string, unknown>)[name], depth + 1);
    if (part === NOT_PLAIN) return NOT_PLAIN;
    copy[name] = part;
  }
  return copy;
};
