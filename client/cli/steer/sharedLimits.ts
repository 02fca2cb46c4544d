import type { Command } from 'commander';
import { Option } from 'commander';
import type { Rate } from '../../../handlers/types';
import { describeSetting, describeValue, wordOfShared } from '../../../workflows/planning/limits/describe';
import { PAGE_MAX } from '../../../workflows/planning/pages';
import type { LastingOptions } from '../../limits/check';
import type { SharedLimitSettings } from '../../limits/checkShared';
import type { SharedLimitChange, SharedLimitView } from '../../views';
import { command, lifetimeOption, wholeOption } from '../support/command';
import { table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';
import { collectedRates } from './rateOption';

const NOTES = `What is set counts in place of the definitions (sharesLimit), on all workers, within about a second,
until it is removed or its time has passed. Calls that have begun are not broken off.`;

export const sharedLimitsCommand = (): Command => {
  const limits = command(
    'shared-limits',
    'Show and change limits that several handlers share, such as the budget of a key.',
    [
      'muster shared-limits list',
      'muster shared-limits set openai-key --rate 100/1m --calls 4 --for 30m',
      'muster shared-limits remove openai-key',
    ],
    NOTES,
  );
  for (const make of [get, list, set, remove]) limits.addCommand(make());
  return limits;
};

const get = (): Command =>
  command('get', 'Show a shared limit: who shares it, what counts, and who set it.', [
    'muster shared-limits get openai-key',
  ])
    .argument('<name>')
    .action(
      runs(async (session: Session, name: string) => {
        const view = await (await session.client()).sharedLimits.get(name);
        session.out.answer(view, () => shown([view]));
      }),
    );

interface ListOptions {
  limit: number;
  after?: string;
}

const list = (): Command =>
  command('list', 'List the limits that handlers share, by name.', ['muster shared-limits list'])
    .option('--limit <n>', 'maximum number of shared limits to list', wholeOption(1, PAGE_MAX), 100)
    .option('--after <next>', 'start after the page that ended with this')
    .action(
      runs(async (session: Session<ListOptions>) => {
        const { limit, after } = session.options;
        const client = await session.client();
        const page = await client.sharedLimits.list({ limit, ...(after === undefined ? {} : { after }) });
        const more = page.next === null ? '' : `\nShowing ${limit}; for more: --after ${page.next}`;
        session.out.answer(page, () =>
          page.limits.length === 0 ? 'No handler shares a limit.' : `${shown(page.limits)}${more}`,
        );
      }),
    );

const AS_DEFINED = ['rate', 'calls'] as const;

interface SetOptions {
  rate?: Rate[];
  calls?: number;
  asDefined?: (typeof AS_DEFINED)[number][];
  for?: number;
  until?: string;
}

const set = (): Command =>
  command(
    'set',
    'Set a shared limit in place of its definition.',
    [
      'muster shared-limits set openai-key --rate 10/1s --for 30m',
      'muster shared-limits set openai-key --as-defined rate',
    ],
    'A rate is <limit>/<duration>[:calls|items|weight], several replace all of them; none is "none".',
  )
    .argument('<name>')
    .option('--rate <rate>', 'rate such as 10/1s; may be repeated', collectedRates)
    .option('--calls <n>', 'calls at once of all that share it', wholeOption(1, 10_000))
    .addOption(new Option('--as-defined <limits...>', 'return to the definition').choices(AS_DEFINED))
    .option('--for <duration>', 'end by itself after this time, such as 30m', lifetimeOption)
    .option('--until <time>', 'end by itself at this time')
    .action(
      runs(async (session: Session<SetOptions>, name: string) => {
        const { rate, calls, asDefined = [], for: forMs, until } = session.options;
        const settings: SharedLimitSettings = {
          ...(rate === undefined ? {} : { rate }),
          ...(calls === undefined ? {} : { concurrency: calls }),
          ...(asDefined.includes('rate') ? { rate: null } : {}),
          ...(asDefined.includes('calls') ? { concurrency: null } : {}),
        };
        const options: LastingOptions = {
          ...(forMs === undefined ? {} : { forMs }),
          ...(until === undefined ? {} : { until }),
        };
        answerChange(session, await (await session.client()).sharedLimits.set(name, settings, options));
      }),
    );

const remove = (): Command =>
  command('remove', 'Remove what is set of a shared limit: its definition counts again.', [
    'muster shared-limits remove openai-key',
  ])
    .argument('<name>')
    .action(
      runs(async (session: Session, name: string) => {
        answerChange(session, await (await session.client()).sharedLimits.remove(name));
      }),
    );

const HEAD = ['name', 'limit', 'counts', 'defined', 'handlers', ''];
const shown = (views: readonly SharedLimitView[]): string =>
  table(
    HEAD,
    views.flatMap(({ name, handlers, limits }) =>
      limits.map(({ limit, inForce, defined, set }) => [
        name,
        wordOfShared(limit),
        describeValue(inForce),
        describeValue(defined),
        handlers.join(', '),
        set === null ? '' : describeSetting(set),
      ]),
    ),
  );

const answerChange = (session: Session, done: SharedLimitChange): void => {
  const lines = done.changed.map(
    ({ limit, from, to }) => `${wordOfShared(limit)}: ${describeValue(from)} -> ${describeValue(to)}`,
  );
  session.out.answer(done, () =>
    [...(lines.length === 0 ? ['Nothing counts differently.'] : lines), shown([done])].join('\n'),
  );
};
