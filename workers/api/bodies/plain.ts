import { z } from 'zod';

/** A problem found before the contract is asked. */
export interface PlainProblem {
  path: readonly PropertyKey[];
  message: string;
  /** A list is longer than the contract allows. */
  isTooLong: boolean;
}

type Path = readonly PropertyKey[];

/**
 * Finds lists that are too long and elements of another type, and stops at `most`: a contract
 * describes every wrong element of a million at some hundred bytes each.
 */
export const plainProblems = (schema: unknown, value: unknown, most: number): PlainProblem[] => {
  const found: PlainProblem[] = [];
  walk(schema, value, [], { found, most });
  return found;
};

/** Of an object whose names the caller chooses. */
const MOST_NAMES = 10_000;

interface Search {
  found: PlainProblem[];
  most: number;
}

const walk = (schema: unknown, value: unknown, path: Path, search: Search): void => {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable)
    walk(schema.unwrap(), value, path, search);
  else if (schema instanceof z.ZodUnion) ofUnion(schema, value, path, search);
  else if (schema instanceof z.ZodRecord) ofRecord(value, path, search);
  else if (schema instanceof z.ZodArray) ofArray(schema, value, path, search);
  else if (schema instanceof z.ZodObject) ofObject(schema, value, path, search);
  else if (schema instanceof z.ZodString && typeof value !== 'string') add(search, path, 'expected text', value);
};

const ofObject = (schema: z.ZodObject, value: unknown, path: Path, search: Search): void => {
  if (!isObject(value)) return add(search, path, 'expected an object', value);
  for (const [name, inner] of Object.entries(schema.shape))
    if (value[name] !== undefined) walk(inner, value[name], [...path, name], search);
};

const ofArray = (schema: z.ZodArray, value: unknown, path: Path, search: Search): void => {
  if (!Array.isArray(value)) return add(search, path, 'expected a list', value);
  const max = longestOf(schema);
  if (value.length > max) {
    search.found.push({ path, message: `expected at most ${max} entries, got ${value.length}`, isTooLong: true });
    return;
  }
  for (let i = 0; i < value.length && search.found.length < search.most; i++)
    walk(schema.element, value[i], [...path, i], search);
};

const ofRecord = (value: unknown, path: Path, search: Search): void => {
  if (!isObject(value)) return add(search, path, 'expected an object', value);
  const { length } = Object.keys(value);
  if (length <= MOST_NAMES) return;
  search.found.push({ path, message: `expected at most ${MOST_NAMES} names, got ${length}`, isTooLong: true });
};

const longestOf = (schema: z.ZodArray): number => {
  const checks = (schema._zod.def.checks ?? []).map((check) => check._zod.def as { check: string; maximum?: number });
  return checks.find(({ check }) => check === 'max_length')?.maximum ?? Infinity;
};

/** Finds only a list that is too long in each option that has it; the contract finds the rest. */
const ofUnion = ({ options }: z.ZodUnion, value: unknown, path: Path, search: Search): void => {
  const tooLong = options.map((option) => plainProblems(option, value, search.most).find(({ isTooLong }) => isTooLong));
  const [name] = tooLong.find((problem) => problem !== undefined)?.path ?? [];
  if (name === undefined) return;
  const having = tooLong.filter((_, i) => {
    const option = options[i];
    return !(option instanceof z.ZodObject) || Object.hasOwn(option.shape, name);
  });
  if (!having.every((problem) => problem?.path[0] === name)) return;
  const { message, path: inner } = having[0]!;
  search.found.push({ path: [...path, ...inner], message, isTooLong: true });
};

const add = (search: Search, path: Path, expected: string, value: unknown): void =>
  void search.found.push({ path, message: `${expected}, got ${kindOf(value)}`, isTooLong: false });

const kindOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : typeof value;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
