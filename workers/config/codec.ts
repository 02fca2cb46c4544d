import { createRequire } from 'node:module';
import { z } from 'zod';
import { DEFAULT_OVER_BYTES } from '../../handlers/codec/claimCheck';
import type { SealerOptions } from '../../handlers/codec/sealer';
import type { ObjectStore, PayloadCodec } from '../../handlers/codec/types';
import { checked, setting, strict, whole } from './checked';
import { converterModule, hasMethods } from './plugs';

/** `payloadCodec` and `objectStore` of the config file: objects, or modules that export them. */

/** A text is the path of a JavaScript module that exports it by this name. */
const pluggedIn = <T>(folder: string, name: string, methods: readonly string[]): z.ZodType<T> => {
  const module = converterModule(folder, name, methods);
  const object = checked<T>(
    `an object with the methods ${methods.join(', ')}, or the path of a JavaScript module that exports it as ${name}`,
    (value) => hasMethods(value, methods),
  );
  return z
    .unknown()
    .transform((value, context): T => {
      const parsed = (typeof value === 'string' ? module : object).safeParse(value);
      if (!parsed.success) {
        for (const { message } of parsed.error.issues) context.addIssue({ code: 'custom', message });
        return z.NEVER;
      }
      if (typeof value !== 'string') return parsed.data as T;
      const file = parsed.data as string;
      return (createRequire(file)(file) as Record<string, T>)[name]!;
    })
    .meta({ expected: 'an object, or the path of a module' });
};

export const codecShape = (folder: string) => ({
  payloadCodec: setting(
    pluggedIn<PayloadCodec>(folder, 'payloadCodec', ['encode', 'decode']),
    'Encodes payloads, results and error texts in Postgres, such as by encryption.',
    'none',
  ),
  objectStore: strict({
    store: pluggedIn<ObjectStore>(folder, 'objectStore', ['put', 'get']).meta({
      about: 'Keeps large payloads and results, such as in a bucket.',
    }),
    overBytes: setting(
      whole(1_024, 100_000_000, 'bytes'),
      'Values of more bytes are kept there, by their encoded form.',
      DEFAULT_OVER_BYTES,
    ),
  }).optional(),
});

/** Returns what clients and workers get of the settings. */
export const sealing = ({ payloadCodec, objectStore }: SealerOptions): SealerOptions => ({
  ...(payloadCodec === undefined ? {} : { payloadCodec }),
  ...(objectStore === undefined ? {} : { objectStore }),
});
