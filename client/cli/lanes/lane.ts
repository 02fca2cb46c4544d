import type { Command } from 'commander';
import { WEIGHT_MAX } from '../../../workflows/planning/lanes/limits';
import type { TaskInput } from '../../tasks/checkTasks';
import { MusterError } from '../../errors';
import type { LaneBatchView } from '../../lanes/views';
import type { Fix, HeadOptions } from '../../lanes/control';
import type { LostOptions } from '../../lanes/reportLost';
import { LANE_HEAD, laneRow } from './lanes';
import { command, wholeOption } from '../support/command';
import { exactJson } from '../support/exactJson';
import { table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const laneCommand = (): Command => {
  const lane = command(
    'lane',
    'Show one lane: its state, its first batches, and what each is waiting for; or change the lane.',
    [
      'muster lane po-17',
      'muster lane pause po-17 --reason "stock-taking"',
      'muster lane skip po-17',
      'muster lane weight po-17 3',
    ],
  )
    .argument('<service>')
    .option('--batches <n>', 'number of batches to show', wholeOption(0, 1_000), 20)
    .action(runs(show));
  for (const make of [pause, resume, skip, fix, lost, weight]) lane.addCommand(make());
  return lane;
};

async function show(session: Session<{ batches: number }>, service: string): Promise<void> {
  const client = await session.client();
  const found = await client.lane(service, { batches: session.options.batches });
  session.out.answer(found, () => [table(LANE_HEAD, [laneRow(found)]), ...found.batches.map(line)].join('\n'));
}
const line = ({ batch, n, attempts, explanation }: LaneBatchView): string =>
  `batch ${batch} (${n} ${n === 1 ? 'item' : 'items'}, ` +
  `${attempts === 0 ? 'not sent yet' : `attempt ${attempts}`}): ${explanation}`;

const pause = (): Command =>
  command('pause', 'Stop sending for a service; calls in flight finish.', [
    'muster lane pause po-17 --reason "stock-taking"',
  ])
    .argument('<service>')
    .option('--reason <text>', 'reason shown by lanes and explain')
    .action(
      runs(async (session: Session<{ reason?: string }>, service: string) => {
        const { reason } = session.options;
        const client = await session.client();
        await (reason === undefined ? client.pauseLane(service) : client.pauseLane(service, reason));
        session.out.answer({ service, paused: true, reason: reason ?? null }, () => `paused lane ${service}`);
      }),
    );

const resume = (): Command =>
  command('resume', 'Resume sending for a service.', ['muster lane resume po-17'])
    .argument('<service>')
    .action(
      runs(async (session: Session, service: string) => {
        await (await session.client()).resumeLane(service);
        session.out.answer({ service, resumed: true }, () => `resumed lane ${service}`);
      }),
    );

const ONLY_BATCH = [
  '--batch <n>',
  'only if this batch halts the lane',
  wholeOption(1, Number.MAX_SAFE_INTEGER),
] as const;

const skip = (): Command =>
  command(
    'skip',
    'Continue a halted lane without the batch that halts it.',
    ['muster lane skip po-17', 'muster lane skip po-17 --batch 81'],
    'A batch with an unknown outcome then counts as not applied, so the batches that depend on it fail.',
  )
    .argument('<service>')
    .option(...ONLY_BATCH)
    .action(
      runs(async (session: Session<HeadOptions>, service: string) => {
        const { batch: meant } = session.options;
        const client = await session.client();
        const { batch } = await client.skipHead(service, meant === undefined ? {} : { batch: meant });
        session.out.answer({ service, skipped: batch }, () => `lane ${service} continues without batch ${batch}`);
      }),
    );

interface FixOptions {
  applied?: boolean;
  again?: boolean;
  file?: string;
  batch?: number;
}
const fix = (): Command =>
  command(
    'fix',
    'Settle the batch that halts a lane, and continue the lane.',
    [
      'muster lane fix po-17 --applied',
      'muster lane fix po-17 --again',
      'muster lane fix po-17 --file corrected.ndjson',
    ],
    'Unknown outcome: check the downstream, then pass --applied or --again. Invalid batch: replace it with ' +
      '--file, one corrected item per line ({"id", "payload"}, with new ids).',
  )
    .argument('<service>')
    .option('--applied', 'the batch was applied')
    .option('--again', 'resend it with the same key: it may be applied twice')
    .option('--file <ndjson>', 'replacement items')
    .option(...ONLY_BATCH)
    .action(
      runs(async (session: Session<FixOptions>, service: string) => {
        const how = await readFix(session);
        const { batch } = await (await session.client()).fixHead(service, how);
        session.out.answer({ service, batch }, () => `lane ${service} continues with batch ${batch}`);
      }),
    );

const readFix = async (session: Session<FixOptions>): Promise<Fix> => {
  const { applied, again, file, batch } = session.options;
  const meant = batch === undefined ? {} : { batch };
  const given = [applied, again, file].filter((one) => one !== undefined).length;
  if (given !== 1)
    throw new MusterError('INVALID_ARGUMENT', `expected one of --applied, --again and --file, got ${given} of them`);
  if (file === undefined) return { as: applied === true ? 'applied' : 'again', ...meant };
  const { readFile } = await import('node:fs/promises');
  const lines = (await readFile(session.path(file), 'utf8')).split('\n');
  return {
    ...meant,
    items: lines.flatMap((text, i) =>
      text.trim() === '' ? [] : [exactJson(text, `${file}, line ${i + 1}`, 'INVALID_INPUT') as TaskInput],
    ),
  };
};

const lost = (): Command =>
  command(
    'lost',
    'Resend, in order, batches of a lane that the downstream accepted and lost.',
    ['muster lane lost po-17 --after-batch 81 --reason "fail-over"', 'muster lane lost po-17 --after-reference r-81'],
    'Without --after-batch or --after-reference: everything accepted that has not ended. Each batch is looked up ' +
      'first, if the handler can, and is sent with the same key.',
  )
    .argument('<service>')
    .option('--after-batch <n>', 'only batches after this one', wholeOption(1, Number.MAX_SAFE_INTEGER))
    .option('--after-reference <reference>', 'only batches after the one with this reference')
    .option('--accepted-before <time>', 'only batches accepted by then; pass the time of an earlier answer')
    .option('--reason <text>', 'reason shown by explain')
    .action(
      runs(async (session: Session<LostOptions>, service: string) => {
        const answer = await (await session.client()).reportLost(service, session.options);
        const { batches, first, last, acceptedBefore } = answer;
        const which = batches === 0 ? 'nothing' : `${batches} (batches ${first} to ${last})`;
        session.out.answer(
          { service, ...answer },
          () => `lane ${service} sends ${which} again, of what was accepted before ${acceptedBefore}`,
        );
      }),
    );

const weight = (): Command =>
  command('weight', "Set a lane's share of the submitters (strategy per-service).", ['muster lane weight po-17 3'])
    .argument('<service>')
    .argument('<weight>', `a whole number, 1 to ${WEIGHT_MAX}`, wholeOption(1, WEIGHT_MAX))
    .action(
      runs(async (session: Session, service: string, value: number) => {
        await (await session.client()).setLaneWeight(service, value);
        session.out.answer({ service, weight: value }, () => `lane ${service} has weight ${value}`);
      }),
    );
