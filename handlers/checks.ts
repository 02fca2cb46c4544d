import { z } from 'zod';
import type { Problem } from './configError';
import { didYouMean } from './suggest';
import { show } from './text';

/**
 * Building blocks for configuration schemas. Their messages say what was expected, and `problemsOf`
 * adds what was given.
 */

const digits = (n: number): string => n.toLocaleString('en-US');

export const whole = (min: number, max: number, unit = ''): z.ZodType<number> =>
  z.custom<number>((v) => Number.isSafeInteger(v) && (v as number) >= min && (v as number) <= max, {
    error: `expected a whole number${unit === '' ? '' : ` of ${unit}`} from ${digits(min)} to ${digits(max)}`,
  });

export const above0 = (what: string): z.ZodType<number> =>
  z.custom<number>((v) => typeof v === 'number' && Number.isFinite(v) && v > 0, { error: `expected ${what} above 0` });

export const flag = (): z.ZodType<boolean> =>
  z.custom<boolean>((v) => typeof v === 'boolean', { error: 'expected true or false' });

export const text = (what: string, fits: (text: string) => boolean): z.ZodType<string> =>
  z.custom<string>((v) => typeof v === 'string' && fits(v), { error: `expected ${what}` });

export const oneOf = <const T extends string>(names: readonly T[]): z.ZodType<T> =>
  z.custom<T>((v) => (names as readonly unknown[]).includes(v), {
    error: `expected ${names.map((name) => `'${name}'`).join(' or ')}`,
  });

export const callable = <F>(signature: string): z.ZodType<F> =>
  z.custom<F>((v) => typeof v === 'function', { error: `expected a function ${signature}` });

/** Returns the schema of an object that has these settings and no others. */
export const settings = <S extends z.ZodRawShape>(shape: S) =>
  z.strictObject(shape, {
    // `problemsOf` turns this into one problem per unknown key, and needs the known keys for its
    // suggestions.
    error: (issue) => (issue.code === 'unrecognized_keys' ? Object.keys(shape).join(' ') : 'expected an object'),
  });

/** Chooses one of several schemas by the value, so that the messages fit what was intended. */
export const either = <T>(pick: (value: unknown) => z.ZodType): z.ZodType<T> =>
  z.unknown().superRefine((value, context) => {
    const parsed = pick(value).safeParse(value);
    if (!parsed.success)
      for (const issue of parsed.error.issues) context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue);
  }) as unknown as z.ZodType<T>;

const at = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (v, key) => (typeof v === 'object' && v !== null ? (v as Record<PropertyKey, unknown>)[key] : undefined),
    value,
  );

/**
 * Describes the given value. Of headers, which may contain a plain secret, only the type is named.
 */
const came = (value: unknown, path: readonly PropertyKey[]): string =>
  path.includes('headers') && value !== undefined ? `a value of type ${typeof value}` : show(value);

/** Returns the problems of `value` by `schema`, one per wrong field. */
export function problemsOf(schema: z.ZodType, value: unknown): Problem[] {
  const parsed = schema.safeParse(value);
  if (parsed.success) return [];
  return parsed.error.issues.flatMap((issue): Problem[] => {
    const path = issue.path.map(String);
    if (issue.code !== 'unrecognized_keys') {
      return [{ path: path.join('.'), message: `${issue.message}, got ${came(at(value, issue.path), issue.path)}` }];
    }
    const known = issue.message.split(' ');
    return issue.keys.map((key) => {
      const hint = didYouMean(key, known);
      return {
        path: [...path, key].join('.'),
        message: `unknown setting${hint === '' ? `; known here: ${known.join(', ')}` : hint}`,
      };
    });
  });
}
