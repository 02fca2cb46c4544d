import type { Command } from 'commander';
import { durationOption } from '../../client/cli/support/command';
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

test('the default of a duration is shown as it may be typed', () => {
  const durations = commands
    .flatMap(({ options }) => options)
    .filter(({ flags, defaultValue }) => flags.includes('<duration>') && defaultValue !== undefined);
  expect(durations.length).toBeGreaterThan(4);
  const typed = durations.map(({ defaultValueDescription = '' }) => durationOption(defaultValueDescription));
  expect(typed).toEqual(durations.map(({ defaultValue }) => defaultValue as number));
  expect(durations.map(({ defaultValueDescription }) => defaultValueDescription)).toEqual(
    expect.arrayContaining(['20s', '1m', '1d']),
  );
});
