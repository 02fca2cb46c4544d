import { z } from 'zod';
import { show } from '../../handlers/text';

/** Building blocks for schemas of settings: each says what was expected and what came. */

export type Shown = (value: unknown) => string;

export const checked = <T>(what: string, fits: (value: unknown) => boolean, shown: Shown = show): z.ZodType<T> =>
  z.custom<T>(fits, { error: (issue) => `expected ${what}, got ${shown(issue.input)}` }).meta({ expected: what });

/** What docs/reference/config.md says about a setting. */
export interface SettingNote {
  /** What it is for, as a sentence. */
  about: string;
  /** The default; as text where it is not a plain value. */
  byDefault?: string | number | boolean | null | undefined;
}

/** Returns an optional setting, with its note. */
export const setting = <S extends z.ZodType>(schema: S, about: string, byDefault?: SettingNote['byDefault']) =>
  schema.optional().meta({ about, byDefault } satisfies SettingNote);

/** `of`: what is counted, such as 'bytes', where the setting's name does not say it. */
export const whole = (min: number, max: number, of?: string): z.ZodType<number> =>
  checked<number>(
    `a whole number${of === undefined ? '' : ` of ${of}`} from ${min} to ${max}`,
    (value) => Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max,
  );

export const text = (what: string, fits: (text: string) => boolean, shown?: Shown): z.ZodType<string> =>
  checked<string>(what, (value) => typeof value === 'string' && fits(value), shown);

export const strict = <S extends z.ZodRawShape>(shape: S) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? Object.keys(shape).join(' ')
        : `expected an object, got ${show(issue.input)}`,
  });

/** Attributes of a node: texts by name. */
export const attributes = z
  .record(z.string(), z.string(), {
    error: (issue) => `expected strings by name, such as {"zone": "eu"}, got ${show(issue.input)}`,
  })
  .meta({ expected: 'strings by name, such as {"zone": "eu"}' });
