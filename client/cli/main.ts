import { runCommandLine } from './runCommandLine';
import { EXIT } from './support/exitCodes';

/**
 * The process of the command line. It ends when the command has: a handler's own connections must
 * not keep it alive.
 */

// If everything ends while a command still waits for something, that is a failure and not a quiet
// 0.
process.exitCode = EXIT.failed;
process.on('exit', () => {
  if (!decided) process.stderr.write('Error: ended without an answer: what it waited for is gone.\n');
});
let decided = false;
const end = (code: number): never => {
  decided = true;
  process.exit(code);
};
// `muster ... | head`: the reader has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => end(error.code === 'EPIPE' ? EXIT.ok : EXIT.failed));
const surroundings = {
  // Each by the command that needs it: opening stdin has effects, and the folder may be gone.
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
