import { parseArgs } from 'node:util';

export interface Flag<T> {
  readonly fallback: T;
  /** Stands alone (`--keep`), without a value. */
  readonly isSwitch?: boolean;
  readonly parse: (text: string, name: string) => T;
}

/** A number flag; `min` and `max` are inclusive. */
export function numberFlag(fallback: number, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}): Flag<number> {
  return {
    fallback,
    parse: (text, name) => {
      const value = Number(text);
      if (text.trim() === '' || !Number.isFinite(value) || value < min || value > max) {
        throw new Error(`--${name}: expected a number from ${min} to ${max}, got "${text}"`);
      }
      return value;
    },
  };
}

/** `2s`, `500ms`, `1m`; a bare number is milliseconds. In milliseconds. */
export function durationFlag(fallback: number): Flag<number> {
  return {
    fallback,
    parse: (text, name) => {
      const [, number, unit = 'ms'] = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text) ?? [];
      if (number === undefined) throw new Error(`--${name}: expected a duration such as 500ms or 2s, got "${text}"`);
      return Number(number) * { ms: 1, s: 1_000, m: 60_000 }[unit]!;
    },
  };
}

export function textFlag<T extends string | undefined>(fallback: T): Flag<string | T> {
  return { fallback, parse: (text) => text };
}

export function switchFlag(): Flag<boolean> {
  return { fallback: false, isSwitch: true, parse: () => true };
}

/**
 * Reads `--name value` flags of an example process. An unknown flag, a flag without a value and a value of the wrong kind
 * throw with the flag's name.
 */
export function readFlags<F extends Record<string, Flag<unknown>>>(
  flags: F,
  argv = process.argv.slice(2),
): { [K in keyof F]: F[K] extends Flag<infer T> ? T : never } {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { isSwitch }]) => [
      name,
      { type: isSwitch === true ? 'boolean' : 'string' } as const,
    ]),
  );
  const { values } = parseArgs({ args: argv, options, strict: true });
  const parsed = Object.entries(flags).map(([name, flag]) => {
    const given = values[name];
    return [name, given === undefined ? flag.fallback : flag.parse(String(given), name)] as const;
  });
  return Object.fromEntries(parsed) as { [K in keyof F]: F[K] extends Flag<infer T> ? T : never };
}

/** `readFlags` of this process; a wrong flag ends it with exit code 2 and the reason on stderr. */
export function processFlags<F extends Record<string, Flag<unknown>>>(flags: F): ReturnType<typeof readFlags<F>> {
  try {
    return readFlags(flags);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return process.exit(2);
  }
}
