import { createRequire } from 'node:module';
import type * as Re2 from 're2js';

/** Loads packages when they are first used: few programs have a JSON Schema. */
export const lazily = createRequire(__filename);

/**
 * Returns a regular expression that is matched in time linear in the text, whatever both are: texts
 * come from outside, and a backtracking engine could be kept busy by one for years. Throws an error
 * for what has no such matcher.
 */
export function linearPattern(pattern: string): { test(text: string): boolean } {
  const { RE2JS } = lazily('re2js') as typeof Re2;
  const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
  const matcher = { test: (text: string) => compiled.matcher(text).find() };
  // ajv keeps patterns of equal text once.
  return Object.assign(matcher, { toString: () => pattern });
}
