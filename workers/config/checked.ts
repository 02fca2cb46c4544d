import { z } from 'zod';
import { show } from '../../handlers/text';

/** What schemas of settings are made of: each says what was expected and what came. */

export type Shown = (value: unknown) => string;

export const checked = <T>(what: string, fits: (value: unknown) => boolean, shown: Shown = show): z.ZodType<T> =>
  z.custom<T>(fits, { error: (issue) => `expected ${what}, got ${shown(issue.input)}` });

export const text = (what: string, fits: (text: string) => boolean, shown?: Shown): z.ZodType<string> =>
  checked<string>(what, (value) => typeof value === 'string' && fits(value), shown);

export const strict = <S extends z.ZodRawShape>(shape: S) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? Object.keys(shape).join(' ')
        : `expected an object, got ${show(issue.input)}`,
  });
