import { z } from 'zod';
import type { Env } from '../../handlers/environment/variable';
import { readVariable } from '../../handlers/environment/variable';
import { show } from '../../handlers/text';
import type { Shown } from './checked';

/** Checks settings that are secrets. Messages say what came, never the secret. */

export const masked: Shown = (value) =>
  typeof value === 'string' ? 'another string (not shown: it may contain a secret)' : show(value);

export interface SecretOptions {
  /** The file is JSON: it must not contain a secret. */
  json: boolean;
  env: Env;
}

/**
 * Takes `{env: NAME}`, or the text itself where a file is code: a JSON file must not contain a
 * secret.
 */
export const secret = ({ json, env }: SecretOptions, inner: z.ZodType<string>): z.ZodType<string> =>
  z.unknown().transform((value, context): string => {
    const refuse = (message: string): never => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    const name = (value as { env?: unknown } | null)?.env;
    if (typeof name !== 'string') {
      if (json)
        return refuse(`expected {"env": "NAME"}, since a JSON file must not contain secrets, got ${masked(value)}`);
      const parsed = inner.safeParse(value);
      return parsed.success ? parsed.data : refuse(parsed.error.issues[0]!.message);
    }
    const { value: found, problem } = readVariable(env, name);
    if (problem !== undefined) return refuse(problem);
    if (found === undefined) return refuse(`expected a value in the environment variable ${name}, got nothing`);
    const parsed = inner.safeParse(found);
    return parsed.success
      ? parsed.data
      : refuse(`${parsed.error.issues[0]!.message} in the environment variable ${name}`);
  });

/** Most secrets of one kind at once: the new one, and those that it replaces. */
const SECRETS_MAX = 8;

/**
 * Takes one secret or a list of them, the newest first. A variable may hold several, one per line.
 */
export const secrets = (options: SecretOptions, inner: z.ZodType<string>): z.ZodType<readonly string[]> => {
  const one = secret(options, linesOf(inner));
  return z.unknown().transform((value, context): readonly string[] => {
    const isList = Array.isArray(value);
    const list: readonly unknown[] = isList ? (value as unknown[]) : [value];
    const found = list.flatMap((entry, index) => {
      const parsed = one.safeParse(entry);
      if (parsed.success) return split(parsed.data);
      const path = isList ? [index] : [];
      context.addIssue({ code: 'custom', message: parsed.error.issues[0]!.message, path });
      return [];
    });
    if (context.issues.length === 0 && (found.length === 0 || found.length > SECRETS_MAX))
      context.addIssue({ code: 'custom', message: `expected 1 to ${SECRETS_MAX} secrets, got ${found.length}` });
    return found;
  });
};

/** Splits a value with one secret per line. */
export const split = (text: string): string[] => text.split(/\r?\n/).filter((line) => line !== '');

/** Checks each line of a text, of which there is at least one. */
export const linesOf = (inner: z.ZodType<string>): z.ZodType<string> =>
  z.unknown().transform((value, context): string => {
    const lines = typeof value === 'string' && value.trim() !== '' ? split(value) : [value];
    const failed = lines.map((line) => inner.safeParse(line)).find((parsed) => !parsed.success);
    if (failed !== undefined) {
      context.addIssue({ code: 'custom', message: failed.error.issues[0]!.message });
      return z.NEVER;
    }
    return value as string;
  });
