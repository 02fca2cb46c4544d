import { z } from 'zod';
import type { ProblemDetails } from '../../workflows/contracts/problem';
import { plainProblems } from './bodies/plain';
import { ApiProblem } from './problem';

type Place = 'path' | 'query' | 'body';

/** Most problems of a request, or things that it would change, that are named one by one. */
export const MOST_NAMED = 100;
/** Of a name that the caller chose. */
const LONGEST_NAME = 200;

/**
 * Checks a part of the request by its contract. @throws ApiProblem with the first 100 fields that
 * are wrong; 413 where a list is too long.
 */
export const checked = <T>(schema: z.ZodType<T>, value: unknown, place: Place): T => {
  const plain = plainProblems(schema, value, MOST_NAMED);
  const tooLong = plain.filter(({ isTooLong }) => isTooLong);
  if (tooLong.length > 0 || plain.length >= MOST_NAMED) {
    const named = tooLong.length > 0 ? tooLong : plain;
    const errors = named.map(({ path, message }) => ({ field: fieldOf(path, place), message }));
    throw refused(errors, errors.length, tooLong.length > 0);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const errors = issues.slice(0, MOST_NAMED).flatMap((issue) => errorsOf(issue, place));
  const all = issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0);
  const isTooMany = issues.every((issue) => issue.code === 'too_big' && issue.origin === 'array');
  throw refused(errors.slice(0, MOST_NAMED), all, isTooMany);
};

type Errors = NonNullable<ProblemDetails['errors']>;

/** `all`: how many there are, of which some are named. */
const refused = (errors: Errors, all: number, isTooMany: boolean): ApiProblem => {
  const detail = `${errors
    .slice(0, 3)
    .map(({ field, message }) => `${field}: ${message}`)
    .join('\n')}${all > 3 ? `\nand ${all - 3} more` : ''}`;
  return new ApiProblem(isTooMany ? 'too-large' : 'invalid', detail, {
    code: isTooMany ? 'TOO_MANY_ITEMS' : 'INVALID_REQUEST',
    errors,
    more: omitted(all - errors.length),
  });
};

/** Says how many problems are not named. */
export const omitted = (count: number): Record<string, number> => (count > 0 ? { errorsOmitted: count } : {});

type Issue = z.core.$ZodIssue;
const errorsOf = (issue: Issue, place: Place): Errors => {
  const at = fieldOf(issue.path, place);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.slice(0, MOST_NAMED).map((key) => ({
      field: fieldOf([...issue.path, key], place),
      message: 'unknown field',
    }));
  return [{ field: at, message: issue.message }];
};

/** Returns the field's name: `tasks[3].payload.country`; the body itself is `body`. */
const fieldOf = (path: readonly PropertyKey[], place: Place): string => {
  const text = path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part).slice(0, LONGEST_NAME)}`))
    .join('');
  return text === '' ? place : text.replace(/^\./, '');
};

/**
 * Converts texts of a query or a path to the numbers and truth values of their contract; any other
 * text stays, and is refused there.
 */
export const fromText = (schema: z.ZodObject, texts: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(texts).map(([name, text]) => {
      const inner = innerOf(schema.shape[name]);
      if (typeof text !== 'string' || inner === undefined) return [name, text];
      if (inner instanceof z.ZodNumber) return [name, /^-?\d{1,16}$/.test(text) ? Number(text) : text];
      if (inner instanceof z.ZodBoolean) return [name, text === 'true' ? true : text === 'false' ? false : text];
      return [name, text];
    }),
  );

const innerOf = (schema: unknown): unknown =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? innerOf(schema.unwrap()) : schema;
