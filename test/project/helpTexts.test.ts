import type { Command } from 'commander';
import { programToRead } from './references/cli';

const withSubs = (command: Command): Command[] => [command, ...command.commands.flatMap(withSubs)];
const commands = withSubs(programToRead());
const words = (text: string): number => text.trim().split(/\s+/).length;

test('an option is explained in at most 12 words', () => {
  const long = commands.flatMap((command) =>
    command.options
      .filter(({ description }) => words(description) > 12)
      .map(({ flags, description }) => `${command.name()} ${flags}: ${description}`),
  );
  expect(long).toEqual([]);
});

test('a command is described by one sentence that begins with a verb', () => {
  const wrong = commands
    .filter(({ parent }) => parent !== null)
    .map((command) => `${command.name()}: ${command.description()}`)
    .filter(
      (text) => !/^[\w-]+: [A-Z][a-z]+\b.*\.$/.test(text) || /: (The|A|An|All|What|Who|How|One|Its|It)\b/.test(text),
    );
  expect(wrong).toEqual([]);
});
