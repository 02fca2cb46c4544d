import { Option } from 'commander';
import type { Command } from 'commander';
import type { Callback } from '../../tasks/checkTasks';
import type { FanoutView } from '../../fanouts/fanout';
import { addCommand, ackCommand, watchCommand } from './fanoutItems';
import { command, wholeOption } from '../support/command';
import { fields } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';
import { EXIT } from '../support/exitCodes';

export const fanoutCommand = (): Command => {
  const fanout = command(
    'fanout',
    'Track a growing set of items: open, add, seal, ack. It completes exactly once, when it is sealed and every item is acked.',
    [
      'muster fanout open --user-key import-17',
      'muster fanout add $ID 1000000 --ids > ids.txt',
      'muster fanout seal $ID',
      'muster fanout ack --file ids.txt',
      'muster fanout watch $ID',
    ],
    'An item id is fanoutId:segment:index and takes one bit in the store. Put the ids into your messages; each receiver acks its id when it has finished.',
  );
  for (const make of [open, addCommand, seal, ackCommand, get, watchCommand]) fanout.addCommand(make());
  return fanout;
};

interface OpenOptions {
  userKey?: string;
  segmentSize?: number;
  id?: string;
  notifyUrl?: string;
  notifyWorkflow?: string;
  signal?: string;
}
const open = (): Command =>
  command(
    'open',
    'Open a fan-out and print its id.',
    [
      'ID=$(muster fanout open)',
      'muster fanout open --user-key import-17 --notify-url https://hooks.example.com/imports --json',
    ],
    'With --json: as "fanout get".',
  )
    .option('--user-key <text>', 'your name for the fan-out, returned with its completion')
    .option('--segment-size <n>', 'items per segment (default: 512)', wholeOption(1, 8_000))
    .option('--id <uuid>', 'your own id: opening it again returns the same fan-out')
    .addOption(
      new Option('--notify-url <url>', 'send a signed webhook when it completes or expires').conflicts(
        'notifyWorkflow',
      ),
    )
    .option('--notify-workflow <id>', 'signal this workflow when it completes or expires')
    .option('--signal <name>', 'with --notify-workflow: signal name (default: musterFanoutEnded)')
    .action(
      runs(async (session: Session<OpenOptions>) => {
        const { userKey, segmentSize, id } = session.options;
        const notify = notifyOf(session.options);
        const found = await (
          await session.client()
        ).openFanout({ ...given({ userKey, segmentSize, id }), ...(notify === null ? {} : { notify }) });
        session.out.answer(found, () => found.id);
      }),
    );

const notifyOf = ({ notifyUrl, notifyWorkflow, signal }: OpenOptions): Callback | null => {
  if (notifyUrl !== undefined) return { url: notifyUrl };
  if (notifyWorkflow === undefined) return null;
  return { workflowId: notifyWorkflow, ...given({ signal }) };
};
const given = <T extends object>(options: T): { [K in keyof T]?: NonNullable<T[K]> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;

const seal = (): Command =>
  command(
    'seal',
    'Seal a fan-out: no more items can be added.',
    ['muster fanout seal $ID'],
    'With --json: {"fanout", "state", "items", "completed"}; completed: this call completed it.',
  )
    .argument('<fanout>')
    .action(
      runs(async (session: Session, fanout: string) => {
        const { state, items, completed } = await (await session.client()).sealFanout(fanout);
        session.out.answer({ fanout, state, items, completed }, () => `fan-out ${fanout} is ${state}, ${items} items`);
      }),
    );

const get = (): Command =>
  command(
    'get',
    'Show a fan-out.',
    ['muster fanout get $ID', 'muster fanout get $ID --exact --json'],
    'Exit code 1 if the fan-out does not exist.',
  )
    .argument('<fanout>')
    .option('--exact', 'count open items even if the fan-out is very large')
    .action(
      runs(async (session: Session<{ exact?: boolean }>, fanout: string) => {
        const found = await (await session.client()).getFanout(fanout, { exact: session.options.exact === true });
        session.out.answer(found, () => (found === null ? `fan-out ${fanout} not found` : show(found)));
        return found === null ? EXIT.failed : EXIT.ok;
      }),
    );

const show = (one: FanoutView): string =>
  fields([
    ['fan-out', one.id],
    ['user key', one.userKey],
    ['state', one.state],
    ['items', one.items],
    ['not acked', one.open ?? `in ${one.openSegments} of ${one.segments} segments (--exact counts them)`],
    ['segments', `${one.segments}, ${one.openSegments} open, of ${one.segmentSize} items at most`],
    ['opened', one.openedAt],
    ['active', one.activeAt],
    ['sealed', one.sealedAt],
    ['complete', one.completedAt],
    ['expired', one.expiredAt],
  ]);
