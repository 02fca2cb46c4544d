import { runCommandLine } from './runCommandLine';
import { EXIT } from './support/exitCodes';

/**
 * The process of the command line. It exits when the command has ended: connections that a handler
 * has opened must not keep it alive.
 */

// If the process runs out of work while a command still waits for something, that is a failure, and
// must not exit with 0.
process.exitCode = EXIT.failed;
process.on('exit', () => {
  if (!decided) process.stderr.write('Error: ended without an answer: what it waited for is gone.\n');
});
let decided = false;
const end = (code: number): never => {
  decided = true;
  process.exit(code);
};
// In `muster ... | head` the reader closes the pipe when it has seen enough, which is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => end(error.code === 'EPIPE' ? EXIT.ok : EXIT.failed));
const surroundings = {
  // Read only by commands that need them: opening stdin has side effects, and the folder may be
  // gone.
  get stdin() {
    return process.stdin;
  },
  get cwd() {
    return process.cwd();
  },
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
};
void runCommandLine(process.argv.slice(2), surroundings).then((code) => {
  decided = true;
  process.stdout.write('', () => end(code));
});
