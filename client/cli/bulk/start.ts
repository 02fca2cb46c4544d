import { createInterface } from 'node:readline/promises';
import { MusterError } from '../../errors';
import type { BulkDeed, BulkInput } from '../../bulk/input';
import type { BulkDryRun } from '../../views';
import { EXIT } from '../support/exitCodes';
import { plural, shortened, table } from '../support/output';
import type { Session } from '../support/session';
import type { Surroundings } from '../support/surroundings';
import { followed } from './follow';
import type { ChoosingOptions } from './options';
import { whereOf } from './options';
import { describeBulk } from './text';

/** Starts a bulk action once it is confirmed, and follows it to its end. */
export const startFrom = async (
  session: Session<ChoosingOptions>,
  handler: string,
  action: BulkDeed,
): Promise<number> => {
  const { limit, dryRun, yes, detach } = session.options;
  const { out, surroundings } = session;
  const client = await session.client();
  const where = await whereOf(client, session.options);
  const input: BulkInput = { handler, where, action, ...(limit === undefined ? {} : { limit }) };
  if (dryRun === true) {
    const found = await client.bulk.dryRun(input);
    out.answer(found, () => describeDryRun(found));
    return EXIT.ok;
  }
  if (yes !== true) {
    if (!isTerminal(surroundings))
      throw new MusterError(
        'INVALID_ARGUMENT',
        '--yes: expected it where stdin is no terminal, got nothing. Look first with --dry-run.',
      );
    const found = await client.bulk.dryRun(input);
    out.note(describeDryRun(found));
    if (found.count === 0) return EXIT.ok;
    if (!(await confirmed(surroundings, `${action.do} ${atLeast(found)} of ${handler}?`))) {
      out.note('Nothing was changed.');
      return EXIT.failed;
    }
  }
  const started = await client.bulk.start(input);
  if (detach === true) {
    out.answer(started, () => started.id);
    return EXIT.ok;
  }
  out.note(`bulk action ${started.id}; Ctrl-C leaves it running, \`muster bulk stop ${started.id}\` stops it`);
  const ended = await followed(client, started.id, out);
  out.answer(ended, () => describeBulk(ended));
  return ended.state === 'done' && ended.failed === 0 ? EXIT.ok : EXIT.failed;
};

const atLeast = ({ count, complete }: BulkDryRun): string => `${complete ? '' : 'at least '}${plural(count, 'task')}`;

const describeDryRun = (found: BulkDryRun): string => {
  if (found.count === 0) return 'No such tasks.';
  const rows = found.sample.map(({ id, target, attempts, createdAt, finishedAt, error }) => [
    id,
    target,
    attempts,
    createdAt,
    finishedAt,
    error === null || error === undefined ? null : shortened(error),
  ]);
  const head = ['id', 'target', 'attempts', 'submitted', 'ended', 'error'];
  const shown = found.sample.length < found.count ? `; the first ${found.sample.length}:` : ':';
  const refused = (found.refused ?? []).map(({ id, reason }) => `${id} would keep its payload: ${reason}`);
  return [`${atLeast(found)}${shown}`, table(head, rows), ...refused].join('\n');
};

const isTerminal = ({ stdin, stderr }: Surroundings): boolean =>
  (stdin as NodeJS.ReadStream).isTTY === true && stderr.isTTY === true;

/** Asks on the terminal; anything but y or yes is a no. */
const confirmed = async ({ stdin, stderr }: Surroundings, question: string): Promise<boolean> => {
  const terminal = createInterface({ input: stdin as NodeJS.ReadStream, output: stderr });
  try {
    return /^\s*y(es)?\s*$/i.test(await terminal.question(`${question} [y/N] `));
  } finally {
    terminal.close();
  }
};
