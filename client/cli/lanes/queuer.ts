import type { Command } from 'commander';
import { Option } from 'commander';
import { DEPTH_MAX, SLOTS_MAX } from '../../../workflows/planning/lanes/limits';
import type { QueuerView } from '../../lanes/views';
import type { QueuerSettings } from '../../lanes/control';
import { command, wholeOption } from '../support/command';
import { table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options extends QueuerSettings {
  pause?: boolean | string;
  resume?: boolean;
}

export const queuerCommand = (): Command =>
  command('queuer', "Show the queuer's settings and grants; options change the settings first.", [
    'muster queuer',
    'muster queuer --slots 32 --strategy per-service',
    'muster queuer --pause "the ledger moves"',
    'muster queuer --resume',
  ])
    .option('--slots <n>', 'number of submitters: batches sent at once', wholeOption(1, SLOTS_MAX))
    .addOption(
      new Option('--strategy <name>', 'how the next lane is chosen').choices([
        'single',
        'per-service',
        'one-round',
        'multi-round',
      ]),
    )
    .option('--depth <n>', 'rounds per turn with strategy multi-round', wholeOption(1, DEPTH_MAX))
    .option('--pause [reason]', 'pause all lanes')
    .option('--resume', 'resume all lanes')
    .action(runs(queuer));

async function queuer(session: Session<Options>): Promise<void> {
  const { slots, strategy, depth, pause, resume } = session.options;
  const client = await session.client();
  if (slots !== undefined || strategy !== undefined || depth !== undefined)
    await client.setQueuer({
      ...(slots === undefined ? {} : { slots }),
      ...(strategy === undefined ? {} : { strategy }),
      ...(depth === undefined ? {} : { depth }),
    });
  if (pause !== undefined) await (typeof pause === 'string' ? client.pauseQueuer(pause) : client.pauseQueuer());
  if (resume === true) await client.resumeQueuer();
  const views = await client.queuer();
  session.out.answer(views, () => table(HEAD, views.map(row)));
}

const HEAD = [
  'queuer',
  'state',
  'slots taken',
  'strategy',
  'grants',
  'lanes',
  'ready',
  'halted',
  'held',
  'paused',
  'epoch',
  '',
];
const row = (q: QueuerView): (string | number)[] => [
  q.id,
  q.state,
  `${q.taken} of ${q.slots}`,
  q.strategy === 'multi-round' ? `multi-round, ${q.depth}` : q.strategy,
  q.grants,
  q.lanes,
  q.ready,
  q.halted,
  q.held,
  q.pausedLanes,
  q.epoch,
  [
    ...(q.paused ? [`paused: ${q.reason ?? ''}`] : []),
    ...q.reduced.map(({ handler, calls, of }) => `back pressure: ${handler} ${calls} of ${of} calls`),
  ].join('; '),
];
