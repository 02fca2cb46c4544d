import { CommanderError } from 'commander';
import { createProgram } from './program';
import { codeOf, EXIT, exitCodeOf } from './support/exitCodes';
import { printable } from './support/output';
import { exitCode } from './support/session';

/**
 * Runs the command line and ends the process: a handler's own connections must not keep it alive.
 */
const main = async (argv: readonly string[]): Promise<number> => {
  // `muster ... | head`: the reader has seen enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) =>
    process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failed),
  );
  try {
    await createProgram().parseAsync([...argv], { from: 'user' });
    return exitCode();
  } catch (error) {
    // Commander has reported the error, or shown its help.
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT.ok;
      if (argv.includes('--json')) writeError(error);
      return EXIT.usage;
    }
    if (argv.includes('--json')) writeError(error);
    process.stderr.write(`${argv.includes('--debug') ? stackOf(error) : `Error: ${printable(messageOf(error))}`}\n`);
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

/** Writes an error. With --json it is a document on stdout, where a program reads. */
const writeError = (error: unknown): void => {
  const { problems, problemCount } = error as { problems?: unknown; problemCount?: unknown };
  const document = {
    error: {
      code: codeOf(error),
      message: messageOf(error),
      ...(problems === undefined ? {} : { problems }),
      ...(problemCount === undefined ? {} : { problemCount }),
    },
  };
  process.stdout.write(`${JSON.stringify(document)}\n`);
};

// If everything ends while a command still waits for something, that is a failure and not a quiet
// 0.
process.exitCode = EXIT.failed;
process.on('exit', () => {
  if (!decided) process.stderr.write('Error: ended without an answer: what it waited for is gone.\n');
});
let decided = false;
void main(process.argv.slice(2)).then((code) => {
  decided = true;
  process.stdout.write('', () => process.exit(code));
});
