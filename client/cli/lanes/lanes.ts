import type { Command } from 'commander';
import { PAGE_MAX } from '../../../workflows/planning/pages';
import type { LaneView } from '../../lanes/views';
import { command, durationOption, wholeOption } from '../support/command';
import { duration, plural, table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  limit: number;
  after?: string;
  waiting?: boolean;
  olderThan?: number;
}

export const lanesCommand = (): Command =>
  command(
    'lanes',
    "List the lanes: each service's state and why, waiting work and its age, and share of the submitters.",
    [
      'muster lanes',
      'muster lanes --waiting',
      'muster lanes --older-than 15m',
      'muster lanes --limit 1000 --after "po-17" --json',
    ],
    'With --json: an array with one object per lane, sorted by service.',
  )
    .option('--limit <n>', 'maximum number of lanes to list', wholeOption(1, PAGE_MAX), 100)
    .option('--after <service>', 'start after this service')
    .option('--waiting', 'list only lanes with work to send')
    .option('--older-than <duration>', 'list only lanes whose oldest work is this old or older', durationOption)
    .action(runs(lanes));

async function lanes(session: Session<Options>): Promise<void> {
  const { limit, after, waiting = false, olderThan } = session.options;
  const client = await session.client();
  const list = await client.lanes({
    limit,
    waiting,
    ...(after === undefined ? {} : { after }),
    ...(olderThan === undefined ? {} : { olderThanMs: olderThan }),
  });
  session.out.answer(list, () => show(list, session.options));
}

const show = (list: readonly LaneView[], { limit, after, waiting, olderThan }: Options): string => {
  const isAll = after === undefined && waiting !== true && olderThan === undefined;
  if (list.length === 0) return isAll ? 'No lanes yet: the first batch of a service creates one.' : 'No such lanes.';
  const more =
    list.length === limit ? `\nShowing ${limit}; for more: --after ${JSON.stringify(list.at(-1)!.service)}` : '';
  return `${table(LANE_HEAD, list.map(laneRow))}${more}`;
};

export const LANE_HEAD = [
  'service',
  'state',
  'batches',
  'unbatched tasks',
  'oldest',
  'in flight',
  'weight',
  'share',
  'approach',
  'why',
];
export const laneRow = (lane: LaneView): (string | number)[] => [
  lane.service,
  lane.state,
  lane.depth,
  lane.queued,
  lane.oldestMs === null ? '-' : duration(lane.oldestMs),
  lane.pending,
  lane.weight,
  `${(lane.share * 100).toFixed(1)} %`,
  lane.kind === 'guaranteed' ? `${lane.approach}, guaranteed` : lane.approach,
  [lane.reason, lane.callsAllowed === null ? null : `back pressure: ${plural(lane.callsAllowed, 'call')} at once`]
    .filter((why) => why !== null)
    .join('; '),
];
