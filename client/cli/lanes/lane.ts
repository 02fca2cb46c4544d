import type { Command } from 'commander';
import { WEIGHT_MAX } from '../../../workflows/planning/lanes/limits';
import type { TaskInput } from '../../tasks/checkTasks';
import { MusterError } from '../../errors';
import type { LaneBatchView } from '../../lanes/views';
import type { Fix } from '../../lanes/control';
import { LANE_HEAD, laneRow } from './lanes';
import { command, wholeOption } from '../support/command';
import { exactJson } from '../support/exactJson';
import { table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const laneCommand = (): Command => {
  const lane = command(
    'lane',
    'One lane: its state, its first batches and what each waits for; and what an operator does about it.',
    [
      'muster lane po-17',
      'muster lane pause po-17 --reason "stock-taking"',
      'muster lane skip po-17',
      'muster lane weight po-17 3',
    ],
  )
    .argument('<service>')
    .option('--batches <n>', 'show so many of its batches', wholeOption(0, 1_000), 20)
    .action(runs(show));
  for (const make of [pause, resume, skip, fix, weight]) lane.addCommand(make());
  return lane;
};

async function show(session: Session<{ batches: number }>, service: string): Promise<void> {
  const client = await session.client();
  const found = await client.lane(service, { batches: session.options.batches });
  session.out.answer(found, () => [table(LANE_HEAD, [laneRow(found)]), ...found.batches.map(line)].join('\n'));
}
const line = ({ batch, n, attempts, explanation }: LaneBatchView): string =>
  `batch ${batch} (${n} ${n === 1 ? 'item' : 'items'}, ${attempts} counted ${attempts === 1 ? 'attempt' : 'attempts'}): ${explanation}`;

const pause = (): Command =>
  command('pause', 'Send nothing more of a service; what is in flight ends.', [
    'muster lane pause po-17 --reason "stock-taking"',
  ])
    .argument('<service>')
    .option('--reason <text>', 'shown by lanes and explain')
    .action(
      runs(async (session: Session<{ reason?: string }>, service: string) => {
        const { reason } = session.options;
        const client = await session.client();
        await (reason === undefined ? client.pauseLane(service) : client.pauseLane(service, reason));
        session.out.answer({ service, paused: true, reason: reason ?? null }, () => `paused lane ${service}`);
      }),
    );

const resume = (): Command =>
  command('resume', 'Let a service go on.', ['muster lane resume po-17'])
    .argument('<service>')
    .action(
      runs(async (session: Session, service: string) => {
        await (await session.client()).resumeLane(service);
        session.out.answer({ service, resumed: true }, () => `resumed lane ${service}`);
      }),
    );

const skip = (): Command =>
  command(
    'skip',
    'Let a halted lane go on without the batch that halts it.',
    ['muster lane skip po-17'],
    'A batch of unknown outcome then counts as not applied: whatever depends on it fails.',
  )
    .argument('<service>')
    .action(
      runs(async (session: Session, service: string) => {
        const { batch } = await (await session.client()).skipHead(service);
        session.out.answer({ service, skipped: batch }, () => `lane ${service} goes on without batch ${batch}`);
      }),
    );

interface FixOptions {
  applied?: boolean;
  again?: boolean;
  file?: string;
}
const fix = (): Command =>
  command(
    'fix',
    'Decide about the batch that halts a lane; then it goes on.',
    [
      'muster lane fix po-17 --applied',
      'muster lane fix po-17 --again',
      'muster lane fix po-17 --file corrected.ndjson',
    ],
    'Of unknown outcome: look downstream, then --applied or --again. Invalid: --file with corrected items (lines {"id", "payload"}, new ids) in its place.',
  )
    .argument('<service>')
    .option('--applied', 'it was applied')
    .option('--again', 'send it again with the same key: it may be applied twice')
    .option('--file <ndjson>', 'these items in its place')
    .action(
      runs(async (session: Session<FixOptions>, service: string) => {
        const how = await readFix(session);
        const { batch } = await (await session.client()).fixHead(service, how);
        session.out.answer({ service, batch }, () => `lane ${service} goes on with batch ${batch}`);
      }),
    );

const readFix = async (session: Session<FixOptions>): Promise<Fix> => {
  const { applied, again, file } = session.options;
  const given = [applied, again, file].filter((one) => one !== undefined).length;
  if (given !== 1)
    throw new MusterError('INVALID_ARGUMENT', `expected one of --applied, --again and --file, got ${given} of them`);
  if (file === undefined) return { as: applied === true ? 'applied' : 'again' };
  const { readFile } = await import('node:fs/promises');
  const lines = (await readFile(session.path(file), 'utf8')).split('\n');
  return {
    items: lines.flatMap((text, i) =>
      text.trim() === '' ? [] : [exactJson(text, `${file}, line ${i + 1}`, 'INVALID_INPUT') as TaskInput],
    ),
  };
};

const weight = (): Command =>
  command('weight', "A lane's share of the submitters, with strategy per-service.", ['muster lane weight po-17 3'])
    .argument('<service>')
    .argument('<weight>', `a whole number, 1 to ${WEIGHT_MAX}`, wholeOption(1, WEIGHT_MAX))
    .action(
      runs(async (session: Session, service: string, value: number) => {
        await (await session.client()).setLaneWeight(service, value);
        session.out.answer({ service, weight: value }, () => `lane ${service} has weight ${value}`);
      }),
    );
