import type { Command } from 'commander';
import { Option } from 'commander';
import type { Client } from '../../client';
import { InvalidArgumentError } from '../../errors';
import type { Execution } from '../../executions/handle';
import { command, durationOption } from '../support/command';
import { describeExecution, SHOWN_CHUNKS, waitForExecution } from '../support/executionText';
import { table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  results?: boolean;
  items?: 'all' | 'failed';
  cancel?: boolean;
  wait?: boolean;
  timeout?: number;
}

const NOTES = `Without an id, lists the latest executions. --results prints the result document: chunks by id, each
with its node and its results by content id; while the execution is running, the results so far. With
--wait, --results or --items is printed at the end, in place of the execution. Exit code 1 if the
execution does not exist, or with --wait was cancelled.`;

export const executionCommand = (): Command =>
  command(
    'execution',
    'Show an execution (progress, chunks, results), wait for it, or cancel it.',
    [
      'muster execution',
      'muster execution 0b8f7f0e-5d0f-4f0c-9a52-3a6c5c1d2b11',
      'muster execution 0b8f7f0e-5d0f-4f0c-9a52-3a6c5c1d2b11 --results > results.json',
      'muster execution 0b8f7f0e-5d0f-4f0c-9a52-3a6c5c1d2b11 --cancel',
    ],
    NOTES,
  )
    .argument('[id]', 'id returned by `muster execute`')
    .option('--results', 'print the result document to stdout')
    .addOption(
      new Option('--items <which>', 'print work items as JSON Lines, ordered by position')
        .choices(['all', 'failed'])
        .conflicts('results'),
    )
    .option('--wait', 'wait for its end; exit code 1 if an item failed permanently')
    .option('--timeout <duration>', 'with --wait: stop waiting after this; the execution continues', durationOption)
    .addOption(
      new Option('--cancel', 'start no more items, and interrupt those that are running').conflicts([
        'results',
        'items',
      ]),
    )
    .action(runs(execution));

async function execution(session: Session<Options>, id?: string): Promise<number | void> {
  const { options, out } = session;
  const client = await session.client();
  if (id === undefined) return latest(session, client);
  const handle = client.execution(id);
  const write = writerOf(session, handle);
  if (options.cancel === true) {
    const view = await handle.cancel();
    return out.answer(view, () => describeExecution(view, []));
  }
  if (options.wait === true) return waitForExecution(session, handle, options.timeout, write);
  if (write !== undefined) return write();
  const [view, chunks] = await Promise.all([handle.status(), handle.chunks()]);
  out.answer({ ...view, chunks }, () => describeExecution(view, chunks.slice(0, SHOWN_CHUNKS)));
}

const latest = async ({ options, out }: Session<Options>, client: Client): Promise<void> => {
  if (Object.keys(options).some((key) => ['results', 'items', 'cancel', 'wait'].includes(key)))
    throw new InvalidArgumentError('id', 'the id of an execution', undefined);
  const views = await client.executions();
  out.answer(views, () => {
    if (views.length === 0) return 'No executions yet: `muster execute` starts one.';
    return table(
      ['execution', 'runs', 'state', 'done', 'of', 'message'],
      views.map((view) => [
        view.id,
        `${view.functionId}/${view.method}`,
        view.state,
        view.counts.done + view.counts.permanentlyFailed,
        view.items,
        view.message ?? '',
      ]),
    );
  });
};

/** Returns what writes the answer that the options name. Undefined: the answer is the execution. */
const writerOf = (session: Session<Options>, handle: Execution): (() => Promise<void>) | undefined => {
  const { results, items } = session.options;
  if (results === true) return () => writeResults(session, handle);
  return items === undefined ? undefined : () => writeItems(session, handle, items === 'failed');
};

const writeResults = async ({ out }: Session<Options>, handle: Execution): Promise<void> => {
  for await (const piece of handle.resultText()) await out.piece(piece);
  await out.piece('\n');
};

const writeItems = async ({ out }: Session<Options>, handle: Execution, failed: boolean): Promise<void> => {
  for await (const item of handle.items())
    if (!failed || item.state === 'failed' || item.state === 'permanently-failed') await out.stream(item);
};
