import type { Command, OutputConfiguration } from 'commander';
import { CommanderError, InvalidArgumentError, Option } from 'commander';
import { command, durationOption, wholeOption } from '../../client/cli/support/command';

/** What `--help` says of a script besides its options. */
export interface Script {
  /** As it is called, up to its options: `npm run demo --`. */
  readonly name: string;
  readonly summary: string;
  /** What it prints, and when it ends with exit code 1. */
  readonly result?: string;
  /** Options only: the name is put before them. */
  readonly examples: readonly string[];
}

/**
 * An option by its name, and what its value is made of: undefined where it was not given and has no
 * default.
 */
export type Flag<T> = (name: string) => { readonly option: Option; readonly value: (given: unknown) => T };
type Flags = Readonly<Record<string, Flag<unknown>>>;
export type Values<F extends Flags> = { readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never };

const flag =
  <T>(make: (name: string) => Option): Flag<T> =>
  (name) => ({ option: make(name), value: (given) => given as T });

interface Whole {
  /** Meaning and unit. */
  text: string;
  /** Inclusive. */
  min?: number;
  max?: number;
  /** How the help names the value: `ms`, `bytes`. */
  unit?: string;
  /** Without a fallback: what holds then. */
  unset?: string;
}
const otherwise = (unset: string | undefined): string => (unset === undefined ? '' : ` (default: ${unset})`);

/** A whole number. */
export const numberFlag = <T extends number | undefined>(fallback: T, whole: Whole): Flag<number | T> => {
  const { text, min = 0, max, unit = 'n', unset } = whole;
  const range = max !== undefined ? `; ${min} to ${max}` : min > 0 ? `; at least ${min}` : '';
  return flag((name) =>
    new Option(`--${name} <${unit}>`, `${text}${range}${otherwise(unset)}`)
      .argParser(wholeOption(min, max))
      .default(fallback),
  );
};

/** Whole numbers with commas between them. */
export const numbersFlag = (fallback: readonly number[], { text, min = 0, max }: Whole): Flag<number[]> => {
  const parse = (given: string): number[] => given.split(',').map(wholeOption(min, max));
  return flag((name) => new Option(`--${name} <n,n,...>`, text).argParser(parse).default(fallback, fallback.join(',')));
};

/**
 * What chance depends on: the same number, the same run. Without a fallback another one each time.
 */
export const seedFlag = (fallback?: number): Flag<number> => {
  const text = 'number that all chance comes from: the same one, the same choices';
  const value = fallback ?? Math.floor(Math.random() * 1e9);
  return flag((name) =>
    new Option(`--${name} <n>`, text)
      .argParser(wholeOption(0))
      .default(value, fallback === undefined ? 'random' : String(fallback)),
  );
};

export const portFlag = (): Flag<number> =>
  numberFlag(0, { text: 'TCP port on 127.0.0.1; 0: any free one', max: 65_535, unit: 'port' });

/** Of a worker process. */
export const graceFlag = (fallbackMs: number): Flag<number> =>
  numberFlag(fallbackMs, { text: 'time for running calls to finish during shutdown, in milliseconds', unit: 'ms' });

/** A part of 1, such as 0.05. */
export const shareFlag = (fallback: number, text: string): Flag<number> => {
  const parse = (given: string): number => {
    if (!/^(\d+|\d*\.\d+)$/.test(given) || Number(given) > 1)
      throw new InvalidArgumentError('Expected a number from 0 to 1.');
    return Number(given);
  };
  return flag((name) => new Option(`--${name} <share>`, `${text}; 0 to 1`).argParser(parse).default(fallback));
};

/** `2s`, `500ms`, `1m`; a bare number is milliseconds. In milliseconds. */
export const durationFlag = (fallbackMs: number, text: string): Flag<number> => {
  const parse = (given: string): number => durationOption(/^[\d.]+$/.test(given) ? `${given}ms` : given);
  const help = `${text} (500ms, 2s, 1m; a bare number is milliseconds)`;
  return flag((name) =>
    new Option(`--${name} <duration>`, help).argParser(parse).default(fallbackMs, `${fallbackMs}ms`),
  );
};

interface Text {
  text: string;
  /** How the help names the value: `url`, `file`. */
  as: string;
  /** Environment variable that is read where the option is not given. */
  env?: string;
  /** Without a fallback: what holds then. */
  unset?: string;
}
const textOption = (name: string, { text, as, env, unset }: Text): Option => {
  const option = new Option(`--${name} <${as}>`, `${text}${otherwise(unset)}`).argParser((given) => {
    // `--file --port 1`: the file was forgotten.
    if (given.startsWith('--')) throw new InvalidArgumentError(`Expected <${as}> before the next option.`);
    return given;
  });
  return env === undefined ? option : option.env(env);
};
export const textFlag = <T extends string | undefined>(fallback: T, text: Text): Flag<string | T> =>
  flag((name) => textOption(name, text).default(fallback));
export const temporalFlag = (): Flag<string> =>
  textFlag('localhost:7233', { text: 'the Temporal server', as: 'host:port' });
export const neededTextFlag = (text: Text): Flag<string> =>
  flag((name) => textOption(name, { ...text, text: `${text.text} (required)` }).makeOptionMandatory());

export const choiceFlag = <const T extends string>(
  choices: readonly T[],
  fallback: NoInfer<T>,
  text: string,
): Flag<T> => flag((name) => new Option(`--${name} <name>`, text).choices(choices).default(fallback));
/** Several of them, or the option again; all if it is not given. */
export const choicesFlag = <const T extends string>(choices: readonly T[], text: string): Flag<T[]> =>
  flag((name) => new Option(`--${name} <name...>`, text).choices(choices).default(choices, 'all'));

/** Several of them with commas between; all if it is not given. */
export const listFlag = <const T extends string>(choices: readonly T[], text: string): Flag<T[]> => {
  const parse = (given: string): T[] =>
    given.split(',').map((one) => {
      const found = choices.find((choice) => choice === one);
      if (found === undefined)
        throw new InvalidArgumentError(`Expected some of ${choices.join(', ')}, with commas between, got '${one}'.`);
      return found;
    });
  return flag((name) =>
    new Option(`--${name} <name,name,...>`, `${text}: ${choices.join(', ')}`).argParser(parse).default(choices, 'all'),
  );
};

/**
 * Stands alone (`--keep`), without a value. Commander has its own mind about `--no-...`: true until
 * it is given.
 */
export const switchFlag =
  (text: string): Flag<boolean> =>
  (name) => {
    const option = new Option(`--${name}`, `${text}${otherwise('off')}`);
    return { option, value: (given) => (option.negate ? given === false : given === true) };
  };

const commandOf = ({ name, summary, result, examples }: Script): Command =>
  command(
    name,
    summary,
    examples.map((example) => (example === '' ? name.replace(/ --$/, '') : `${name} ${example}`)),
    `${result === undefined ? '' : `${result}\n`}Exit code 2: an option is wrong; nothing was started.`,
  )
    .configureHelp({ helpWidth: 110 })
    .showHelpAfterError(`(what there is: ${name} --help)`)
    .allowExcessArguments()
    .exitOverride();

/**
 * Reads the options of a script. `--help`, an unknown option, a value of the wrong kind and
 * anything that is no option throw commander's CommanderError after it was said (on stdout, on
 * stderr, or as `output` has it).
 */
export const readFlags = <F extends Flags>(
  script: Script,
  flags: F,
  argv: readonly string[],
  output: OutputConfiguration = {},
): Values<F> => {
  const made = Object.entries(flags).map(([name, make]) => [name, make(name)] as const);
  const program = commandOf(script).configureOutput(output);
  for (const [, { option }] of made) program.addOption(option);
  program.parse(argv, { from: 'user' });
  if (program.args.length > 0)
    program.error(
      `error: expected options only, got '${program.args[0]}'${script.name.startsWith('npm') ? ' (npm takes for itself what comes before --)' : ''}`,
      { code: 'commander.excessArguments' },
    );
  const given = program.opts<Record<string, unknown>>();
  return Object.fromEntries(
    made.map(([name, { option, value }]) => [name, value(given[option.attributeName()])]),
  ) as Values<F>;
};

/** `readFlags` of this process: help ends it with exit code 0, a wrong option with 2. */
export const processFlags = <F extends Flags>(script: Script, flags: F): Values<F> => {
  try {
    return readFlags(script, flags, process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return process.exit(error.exitCode === 0 ? 0 : 2);
  }
};
