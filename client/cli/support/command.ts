import { Command, InvalidArgumentError, Option } from 'commander';

/** Creates a command whose help ends with notes and examples. */
export const command = (name: string, description: string, examples: readonly string[], notes = ''): Command =>
  new Command(name)
    .description(description)
    .addHelpText(
      'after',
      `${notes === '' ? '' : `\n${notes}\n`}\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`,
    );

const DURATION = /^(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)?$/;
const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Parses a duration such as `500ms`, `30s`, `5m` or `2h` into milliseconds. A number without a unit
 * is in seconds.
 */
export const durationOption = (text: string): number => {
  const [, number, unit = 's'] = DURATION.exec(text) ?? [];
  const ms = Math.round(Number(number) * UNIT_MS[unit]!);
  if (number === undefined || ms > 2_147_483_647)
    throw new InvalidArgumentError('Expected a duration such as 500ms, 30s, 5m or 2h.');
  return ms;
};

/** Formats a duration as `durationOption` parses it: `500ms`, `20s`, `1m`, `1d`. */
const durationText = (ms: number): string => {
  const [unit, unitMs] = Object.entries(UNIT_MS).findLast(([name, each]) => name !== 'min' && ms % each === 0)!;
  return `${ms / unitMs}${unit}`;
};

/** Returns an option that takes a duration, whose help shows the default as a user may type it. */
export const durationWithDefault = (flags: string, description: string, defaultMs: number): Option =>
  new Option(flags, description).argParser(durationOption).default(defaultMs, durationText(defaultMs));

const LIFETIME_MAX_MS = 3_650 * 86_400_000;

/**
 * Parses a duration of at least a second and at most 10 years, such as `12h` or `90d`, into
 * milliseconds.
 */
export const lifetimeOption = (text: string): number => {
  const [, number, unit = 's'] = DURATION.exec(text) ?? [];
  const ms = Math.round(Number(number) * UNIT_MS[unit]!);
  if (number === undefined || ms < 1_000 || ms > LIFETIME_MAX_MS)
    throw new InvalidArgumentError('Expected a duration from 1s to 3650d, such as 12h or 90d.');
  return ms;
};

/**
 * Returns a parser of whole numbers from `min` to `max`, both included. Default of `max`: the
 * largest number that is exact.
 */
export const wholeOption =
  (min: number, max = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(
        `Expected a whole number ${max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`}.`,
      );
    return value;
  };

export const portOption = wholeOption(1, 65_535);

/** Collects the values of an option that may be given several times. */
export const collected = (text: string, before: string[] = []): string[] => [...before, text];
