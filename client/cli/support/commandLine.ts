import { Command } from 'commander';
import { EXIT } from './exitCodes';
import type { Surroundings } from './surroundings';

/** The whole command line; its commands find in it what they run in, and leave their exit code. */
export class CommandLine extends Command {
  exitCode: number = EXIT.ok;

  constructor(readonly surroundings: Surroundings) {
    super('muster');
    const { stdout, stderr } = surroundings;
    this.configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) });
  }
}

/** Returns the command line that a command is part of. */
export const commandLineOf = (command: Command): CommandLine => {
  let top = command;
  while (top.parent !== null) top = top.parent;
  return top as CommandLine;
};
