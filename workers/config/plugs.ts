import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { PayloadCodec } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { z } from 'zod';
import { show } from '../../handlers/text';
import { checked, setting, strict } from './checked';

/**
 * `temporal.dataConverter` and `temporal.interceptors` of the config file. Paths are from its
 * folder.
 */

export const hasMethods = (value: unknown, names: readonly string[]): boolean =>
  typeof value === 'object' &&
  value !== null &&
  names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');

const list = <T>(what: string, of: z.ZodType<T>): z.ZodType<T[]> =>
  z
    .array(of, { error: (issue) => `expected a list of ${what}, got ${show(issue.input)}` })
    .meta({ expected: `a list of ${what}` });

const codecs = list<PayloadCodec>(
  'codecs',
  checked('a codec: an object with the methods encode and decode', (value) => hasMethods(value, ['encode', 'decode'])),
);
const clientInterceptors = list<WorkflowClientInterceptor>(
  'interceptors of a workflow client',
  checked(
    'an object with the methods of a WorkflowClientInterceptor',
    (value) => typeof value === 'object' && value !== null,
  ),
);
const activityInterceptors = list<ActivityInterceptorsFactory>(
  'factories of activity interceptors',
  checked('a function that makes the interceptors of an activity', (value) => typeof value === 'function'),
);

/**
 * Returns a module's full path. A bare name is a file of the folder if there is one, otherwise a
 * package.
 */
const resolved = (folder: string, name: string): string => {
  const near = path.resolve(folder, name);
  const file = [near, `${near}.ts`].find((one) => existsSync(one) && path.extname(one) !== '');
  return file ?? createRequire(path.join(folder, 'muster.config.js')).resolve(name);
};

const firstLine = (error: unknown): string => (error as Error).message.split('\n')[0]!;

const moduleOf = (what: string, folder: string, fits: (file: string) => boolean = () => true): z.ZodType<string> =>
  z.unknown().transform((value, context): string => {
    let why = '';
    if (typeof value === 'string' && value !== '')
      try {
        const file = resolved(folder, value);
        if (fits(file)) return file;
      } catch (error) {
        why = `, which cannot be loaded: ${firstLine(error)}`;
      }
    context.addIssue({ code: 'custom', message: `expected the path of a ${what}, got ${show(value)}${why}` });
    return z.NEVER;
  });

/** The SDK loads it with `require`, in the worker and for its workflows. */
export const converterModule = (folder: string, name: string, methods: readonly string[]): z.ZodType<string> =>
  moduleOf(
    `JavaScript module that exports ${name}, an object with the methods ${methods.join(' and ')}`,
    folder,
    (file) => hasMethods((createRequire(file)(file) as Record<string, unknown>)[name], methods),
  );

export const plugsShape = (folder: string) => ({
  dataConverter: strict({
    payloadConverterPath: setting(
      converterModule(folder, 'payloadConverter', ['toPayload', 'fromPayload']),
      'Module that exports `payloadConverter`.',
      'the SDK’s',
    ),
    failureConverterPath: setting(
      converterModule(folder, 'failureConverter', ['errorToFailure', 'failureToError']),
      'Module that exports `failureConverter`.',
      'the SDK’s',
    ),
    payloadCodecs: setting(codecs, 'Codecs, such as for encryption; in a config file that is code.', 'none'),
  }).optional(),
  interceptors: strict({
    client: strict({
      workflow: setting(clientInterceptors, 'Interceptors of the workflow client.', 'none'),
    }).optional(),
    activity: setting(activityInterceptors, 'Factories of activity interceptors.', 'none'),
    workflowModules: setting(
      list('paths', moduleOf('module that exports interceptors', folder)),
      'Modules of workflow interceptors, bundled with the workflows.',
      'none',
    ),
  }).optional(),
});
