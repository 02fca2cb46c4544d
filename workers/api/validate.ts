import { z } from 'zod';
import type { ProblemDetails } from '../../workflows/contracts/problem';
import { ApiProblem } from './problem';

type Place = 'path' | 'query' | 'body';

/**
 * Checks a part of the request by its contract. @throws ApiProblem with every field that is wrong;
 * 413 where a list is too long.
 */
export const checked = <T>(schema: z.ZodType<T>, value: unknown, place: Place): T => {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const errors = issues.slice(0, MOST_NAMED).flatMap((issue) => errorsOf(issue, place));
  const detail = `${errors
    .slice(0, 3)
    .map(({ field, message }) => `${field}: ${message}`)
    .join('\n')}${errors.length > 3 ? `\nand ${errors.length - 3} more` : ''}`;
  const isTooMany = issues.every((issue) => issue.code === 'too_big' && issue.origin === 'array');
  throw new ApiProblem(isTooMany ? 'too-large' : 'invalid', detail, {
    code: isTooMany ? 'TOO_MANY_ITEMS' : 'INVALID_REQUEST',
    errors,
  });
};

export const MOST_NAMED = 100;

type Issue = z.core.$ZodIssue;
const errorsOf = (issue: Issue, place: Place): NonNullable<ProblemDetails['errors']> => {
  const at = fieldOf(issue.path, place);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      field: fieldOf([...issue.path, key], place),
      message: 'unknown field',
    }));
  return [{ field: at, message: issue.message }];
};

/** Returns the field's name: `tasks[3].payload.country`; the body itself is `body`. */
const fieldOf = (path: readonly PropertyKey[], place: Place): string => {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
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
