import { z } from 'zod';
import type { SettingNote } from '../../../workers/config/checked';
import { fileSchema } from '../../../workers/config/settingsSchema';
import { code, page, table } from './markdown';

interface Setting {
  path: string;
  expected: string;
  note: SettingNote;
}

/** Every setting of the config file beside the handlers. */
export const configReference = (): string =>
  page('Config file', [
    [
      'Settings that stand in the config file (`muster.config.ts`, `.js`, `.mjs`, `.cjs` or `.json`) beside',
      '`handlers` and `functions`. A flag goes before its environment variable, that before the file, and the',
      'file before a `muster dev` that runs in the same folder. Names that end in `Ms` are milliseconds.',
    ].join(' '),
    table(
      ['setting', 'what it is', 'expected', 'default'],
      settings(fileSchema({ json: false, env: {}, folder: process.cwd() })).map(({ path, expected, note }) => [
        code(path),
        note.about,
        expected,
        defaultOf(note),
      ]),
    ),
  ]);

const settings = (schema: z.ZodType, path: readonly string[] = []): Setting[] => {
  const inner = schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema;
  if (inner instanceof z.ZodObject)
    return Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([name, of]) =>
      settings(of, [...path, name]),
    );
  const note = z.globalRegistry.get(schema) as SettingNote | undefined;
  if (note?.about === undefined) throw new Error(`Cannot describe the setting ${path.join('.')}: it has no note.`);
  return [{ path: path.join('.'), expected: expectedOf(inner), note }];
};

const expectedOf = (schema: z.ZodType): string =>
  (z.globalRegistry.get(schema) as { expected?: string } | undefined)?.expected ?? 'text';

/** A value as code, words as they are. */
const defaultOf = ({ byDefault }: SettingNote): string => {
  if (byDefault === undefined || byDefault === null) return 'none';
  const isWords = typeof byDefault === 'string' && (/\s/.test(byDefault) || ['none', 'off'].includes(byDefault));
  return isWords ? byDefault : code(String(byDefault));
};
