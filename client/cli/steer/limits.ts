import type { Command } from 'commander';
import { Option } from 'commander';
import type { Rate } from '../../../handlers/types';
import type { LimitSettings, SetLimitsOptions } from '../../limits/check';
import { PAGE_MAX } from '../../../workflows/planning/pages';
import { describeSetting, describeValue, wordOf } from '../../../workflows/planning/limits/describe';
import type { LimitsChange, LimitsView } from '../../views';
import { command, lifetimeOption, wholeOption } from '../support/command';
import { table } from '../support/output';
import { collectedRates, weightOption } from './rateOption';
import type { Session } from '../support/session';
import { runs } from '../support/session';

const NOTES = `A limit that is set counts in place of the handler's definition, on all workers, within about a second,
until it is removed or its time has passed. Calls that have begun are not broken off.`;

export const limitsCommand = (): Command => {
  const limits = command(
    'limits',
    'Show and change the rate, calls at once and weight in flight of handlers and targets while workers run.',
    [
      'muster limits get orders',
      'muster limits set orders --rate 10/1s --per-handler 4 --for 30m',
      'muster limits set orders customer-17 --per-target 1',
      'muster limits set orders --as-defined rate',
      'muster limits remove orders',
      'muster limits list',
    ],
    NOTES,
  );
  for (const make of [get, list, set, remove]) limits.addCommand(make());
  return limits;
};

const get = (): Command =>
  command('get', 'Show the limits of a handler, or of one target: what counts, and who set it.', [
    'muster limits get orders',
  ])
    .argument('<handler>')
    .argument('[target]')
    .action(
      runs(async (session: Session, handler: string, target?: string) => {
        const view = await (await session.client()).limits.get(handler, targetOf(target));
        session.out.answer(view, () => shown([view]));
      }),
    );

interface ListOptions {
  limit: number;
  after?: string;
}

const list = (): Command =>
  command('list', 'List the handlers and targets for which limits are set.', ['muster limits list'])
    .argument('[handler]', 'list only this handler and its targets')
    .option('--limit <n>', 'maximum number of handlers and targets to list', wholeOption(1, PAGE_MAX), 100)
    .option('--after <next>', 'start after the page that ended with this')
    .action(
      runs(async (session: Session<ListOptions>, handler?: string) => {
        const { limit, after } = session.options;
        const page = await (
          await session.client()
        ).limits.list({
          limit,
          ...(handler === undefined ? {} : { handler }),
          ...(after === undefined ? {} : { after }),
        });
        const more = page.next === null ? '' : `\nShowing ${limit}; for more: --after ${page.next}`;
        session.out.answer(page, () =>
          page.limits.length === 0 ? 'No limit is set: the definitions count.' : `${shown(page.limits)}${more}`,
        );
      }),
    );

const AS_DEFINED = ['rate', 'per-target', 'per-handler', 'weight-per-target', 'weight-per-handler'] as const;

interface SetOptions {
  rate?: Rate[];
  perTarget?: number;
  perHandler?: number;
  weightPerTarget?: number;
  weightPerHandler?: number;
  asDefined?: string[];
  for?: number;
  until?: string;
}

const set = (): Command =>
  command(
    'set',
    'Set limits of a handler, or of one target, in place of those of its definition.',
    [
      'muster limits set orders --rate 10/1s --for 30m',
      'muster limits set orders --rate 600/1m:items --rate 5/1s:calls:target',
    ],
    'A rate is <limit>/<duration>[:calls|items|weight][:handler|target], several replace all of them; none is "none".',
  )
    .argument('<handler>')
    .argument('[target]', 'only this target')
    .option('--rate <rate>', 'rate such as 10/1s; may be repeated', collectedRates)
    .option('--per-target <n>', 'calls at once per target', wholeOption(1, 10_000))
    .option('--per-handler <n>', 'calls at once of the handler', wholeOption(1, 10_000))
    .option('--weight-per-target <n>', 'weight in flight per target', weightOption)
    .option('--weight-per-handler <n>', 'weight in flight of the handler', weightOption)
    .addOption(new Option('--as-defined <limits...>', 'return to the definition').choices(AS_DEFINED))
    .option('--for <duration>', 'end by itself after this time, such as 30m', lifetimeOption)
    .option('--until <time>', 'end by itself at this time')
    .action(
      runs(async (session: Session<SetOptions>, handler: string, target?: string) => {
        const { for: forMs, until } = session.options;
        const options: SetLimitsOptions = {
          ...targetOf(target),
          ...(forMs === undefined ? {} : { forMs }),
          ...(until === undefined ? {} : { until }),
        };
        const client = await session.client();
        answerChange(session, await client.limits.set(handler, settingsOf(session.options), options));
      }),
    );

const remove = (): Command =>
  command('remove', 'Remove what is set of a handler, or of one target: its definition counts again.', [
    'muster limits remove orders',
    'muster limits remove orders customer-17',
  ])
    .argument('<handler>')
    .argument('[target]')
    .action(
      runs(async (session: Session, handler: string, target?: string) => {
        answerChange(session, await (await session.client()).limits.remove(handler, targetOf(target)));
      }),
    );

const targetOf = (target?: string): { target?: string } => (target === undefined ? {} : { target });

const settingsOf = (options: SetOptions): LimitSettings => {
  const asDefined = new Set(options.asDefined ?? []);
  const valueOf = <T>(name: (typeof AS_DEFINED)[number], value: T | undefined): T | null | undefined =>
    asDefined.has(name) ? null : value;
  return {
    rate: valueOf('rate', options.rate),
    concurrency: {
      perTarget: valueOf('per-target', options.perTarget),
      perHandler: valueOf('per-handler', options.perHandler),
    },
    maxWeightInFlight: {
      perTarget: valueOf('weight-per-target', options.weightPerTarget),
      perHandler: valueOf('weight-per-handler', options.weightPerHandler),
    },
  };
};

const HEAD = ['handler', 'target', 'limit', 'counts', 'defined', ''];
const shown = (views: readonly LimitsView[]): string =>
  table(
    HEAD,
    views.flatMap(({ handler, target, limits }) =>
      limits.map(({ limit, inForce, defined, set }) => [
        handler,
        target,
        wordOf(limit),
        describeValue(inForce),
        describeValue(defined),
        set === null ? '' : describeSetting(set),
      ]),
    ),
  );

const answerChange = (session: Session, done: LimitsChange): void => {
  const lines = done.changed.map(
    ({ limit, from, to }) => `${wordOf(limit)}: ${describeValue(from)} -> ${describeValue(to)}`,
  );
  session.out.answer(done, () =>
    [...(lines.length === 0 ? ['Nothing counts differently.'] : lines), shown([done])].join('\n'),
  );
};
