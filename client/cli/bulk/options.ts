import type { Command } from 'commander';
import type { Client } from '../../client';
import type { BulkFilter } from '../../bulk/input';
import type { TaskState } from '../../../workflows/planning/states';
import { timeAgo } from '../look/timeAgo';
import { durationOption, wholeOption } from '../support/command';

/** Options that say which tasks are meant, and how the command goes about it. */
export interface ChoosingOptions {
  state?: TaskState;
  id?: string;
  target?: string;
  tag?: string;
  error?: string;
  errorCode?: string;
  errorGroup?: string;
  since?: number;
  until?: number;
  limit?: number;
  dryRun?: boolean;
  yes?: boolean;
  detach?: boolean;
}

/** Adds them to a command. */
export const choosing = (command: Command): Command =>
  command
    .option('--id <task>', 'only the task with this id')
    .option('--target <key>', 'only tasks of this target')
    .option('--tag <tag>', 'only tasks that were submitted with this tag')
    .option('--error <text>', 'only tasks whose error contains this text')
    .option('--error-code <word>', 'only tasks whose error has this word, such as 503')
    .option('--error-group <text>', 'only errors of this group, as `muster errors` prints it')
    .option('--since <duration>', 'only tasks that ended (waiting: were accepted) within this time', durationOption)
    .option('--until <duration>', 'only tasks that ended (waiting: were accepted) longer ago', durationOption)
    .option('--limit <n>', 'maximum number of tasks', wholeOption(1, 1_000_000_000))
    .option('--dry-run', 'only count the tasks, and show some of them')
    .option('--yes', 'do not ask; needed where stdin is no terminal')
    .option('--detach', 'only start it: `muster bulk show` follows');

/** Returns the filter that the options name, with times by the database's clock. */
export const whereOf = async (client: Client, options: ChoosingOptions): Promise<BulkFilter> => {
  const { state, id, target, tag, error, errorCode, errorGroup, since, until } = options;
  const given = { state, id, target, tag, error, errorCode, errorGroup };
  return {
    ...(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as BulkFilter),
    ...(since === undefined ? {} : { since: await timeAgo(client, since) }),
    ...(until === undefined ? {} : { until: await timeAgo(client, until) }),
  };
};
