import { Command } from 'commander';
import { EXIT } from './exitCodes';
import type { Surroundings } from './surroundings';

/**
 * The whole command line. Its commands find their surroundings in it, and leave their exit code
 * there.
 */
export class CommandLine extends Command {
  exitCode: number = EXIT.ok;

  constructor(readonly surroundings: Surroundings) {
    super('muster');
    const { stdout, stderr } = surroundings;
    this.configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) });
  }
}

/** Returns the command line to which a command belongs. */
export const commandLineOf = (command: Command): CommandLine => {
  let top = command;
  while (top.parent !== null) top = top.parent;
  return top as CommandLine;
};
