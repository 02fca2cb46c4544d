import type { Command } from 'commander';
import { cutText, describeThrown } from '../../../handlers/text';
import type { Client } from '../../client';
import { command } from '../support/command';
import type { Session } from '../support/session';
import { runs } from '../support/session';
import { live } from '../top/live';
import type { Terminal } from '../top/live';
import type { TopRow } from '../top/rows';
import { topRows } from '../top/rows';
import { topLine, topTable } from '../top/screen';
import { timeAgo } from './timeAgo';

export const topCommand = (): Command =>
  command(
    'top',
    'Show live what each handler does: what waits, calls, ends, latency.',
    ['muster top', 'muster top --once', 'muster top --json | jq ".handlers[].callsPerS"'],
    'Rates are of about the last minute, as the workers count them: at most 5 s old.\n' +
      'Without a terminal, with --once or with --json it is shown once. Keys: q quits, others sort.',
  )
    .option('--once', 'show it once and end', false)
    .action(runs(top));

interface Shown {
  at: string;
  handlers: TopRow[];
}

/** Two minutes have all that the rates need. */
const SINCE_MS = 120_000;
const PROBLEM_SHOWN = 200;

const readTop = async (client: Client): Promise<Shown> => {
  const list = await client.status(undefined, { exact: false });
  const page = await client.outcomes.list({ since: await timeAgo(client, SINCE_MS) });
  return { at: page.at, handlers: topRows(list, page) };
};

async function top(session: Session<{ once: boolean }>): Promise<void> {
  const { options, out, surroundings } = session;
  const client = await session.client();
  const terminal = terminalOf(surroundings);
  if (options.once || out.json || terminal === null) {
    const shown = await readTop(client);
    return out.answer(shown, () => topTable(shown.handlers, 'h'));
  }
  let shown: Shown = await readTop(client);
  const read = async (): Promise<string | null> => {
    try {
      shown = await readTop(client);
      return null;
    } catch (error) {
      return cutText(describeThrown(error), PROBLEM_SHOWN);
    }
  };
  await live(terminal, read, (problem, order) =>
    [topLine(shown.at, order, problem), topTable(shown.handlers, order)].join('\n'),
  );
}

/** Returns the terminal; null: the output, or the input, is none. */
const terminalOf = ({ stdin, stdout }: Session['surroundings']): Terminal | null => {
  const keys = stdin as Terminal['keys'] & { isTTY?: boolean };
  const isTerminal = (stdout as { isTTY?: boolean }).isTTY === true && keys.isTTY === true;
  return isTerminal ? { out: stdout, keys } : null;
};
