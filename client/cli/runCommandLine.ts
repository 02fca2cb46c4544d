import { CommanderError } from 'commander';
import { createProgram } from './program';
import { codeOf, EXIT, exitCodeOf } from './support/exitCodes';
import { printable } from './support/output';
import type { Surroundings } from './support/surroundings';

/** Runs one command to its end, prints its error if it fails, and returns its exit code. */
export const runCommandLine = async (argv: readonly string[], surroundings: Surroundings): Promise<number> => {
  const program = createProgram(surroundings);
  const { stdout, stderr } = surroundings;
  const isJson = argv.includes('--json');
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return program.exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
    if (isJson) stdout.write(errorDocument(error));
    // Commander has reported the error, or shown its help.
    if (error instanceof CommanderError) return EXIT.usage;
    stderr.write(`${argv.includes('--debug') ? stackOf(error) : `Error: ${printable(messageOf(error))}`}\n`);
    return exitCodeOf(error);
  }
};

const messageOf = (error: unknown): string => {
  const { message } = (error ?? {}) as { message?: unknown };
  return typeof message === 'string' && message !== '' ? message.split('\nRequire stack')[0]! : String(error);
};
const stackOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `\nCaused by: ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
};

/** Returns an error as a JSON document, which --json prints to stdout, where programs read. */
const errorDocument = (error: unknown): string => {
  const { problems, problemCount } = error as { problems?: unknown; problemCount?: unknown };
  const document = {
    error: {
      code: codeOf(error),
      message: messageOf(error),
      ...(problems === undefined ? {} : { problems }),
      ...(problemCount === undefined ? {} : { problemCount }),
    },
  };
  return `${JSON.stringify(document)}\n`;
};
