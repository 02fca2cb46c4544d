import { Readable, Writable } from 'node:stream';
import type { Command } from 'commander';
import { createProgram } from '../../../client/cli/program';
import { page, verbatim } from './markdown';

/** The program as it is read: none of its commands is run. */
export const programToRead = (): Command => {
  const nowhere = new Writable();
  return createProgram({ stdin: Readable.from([]), stdout: nowhere, stderr: nowhere, cwd: '/', env: {} });
};

/** Every command with its help, as a user of the terminal reads it. */
export const cliReference = (): string => {
  const program = programToRead();
  return page('Command line', [
    'Every command of `muster`, as `muster <command> --help` prints it. All commands take the global options.',
    verbatim(helpOf(program)),
    ...program.commands.flatMap((command) => commandParts(command, 'muster', 2)),
  ]);
};

const commandParts = (command: Command, parent: string, level: number): string[] => {
  const name = `${parent} ${command.name()}`;
  return [
    `${'#'.repeat(level)} ${name}`,
    verbatim(helpOf(command)),
    ...command.commands.flatMap((sub) => commandParts(sub, name, level + 1)),
  ];
};

/** With the texts before and after it, which `helpInformation` leaves out. */
const helpOf = (command: Command): string => {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 110 });
  command.outputHelp();
  return text;
};
