import type { Command } from 'commander';
import type { Client } from '../../client';
import { command, durationOption } from '../support/command';
import { EXIT } from '../support/exitCodes';
import { duration, fields, plural } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';
import { LineSpool, stage } from '../support/spool';
import type { Accepted } from '../support/submitFile';
import { acceptFile, checkFile } from '../support/submitFile';
import { sayProblem } from '../support/taskLine';
import type { Waited } from '../support/waitFor';
import { waitForAll } from '../support/waitFor';

interface Options {
  file: string;
  wait?: boolean;
  partial?: boolean;
  timeout?: number;
}

const NOTES = `Each line is one task: {"id", "payload"} and, if need be, "notBefore" (ISO time), "priority" (lower first) and
"callback" ({"url"} or {"workflowId"}). The file is checked whole, then accepted in one transaction: all of it or, if a line is
bad, nothing. Submitting it again is safe: the same id with the same payload is the same task.

With --json: {"handler", "accepted", "repeated", "refused", "problems"}; with --json --wait NDJSON, a task a line as it ends and
last {"summary": ...}.`;

export const submitCommand = (): Command =>
  command(
    'submit',
    'Submit tasks from a file of JSON lines.',
    [
      'muster submit orders --file orders.ndjson',
      'produce-tasks | muster submit orders --file - --wait',
      'muster submit orders --file orders.ndjson --wait --json > results.ndjson',
    ],
    NOTES,
  )
    .argument('<handler>', 'a handler of the config file')
    .requiredOption('--file <file>', 'file of JSON lines; - for standard input')
    .option('--wait', 'wait until every task has ended; exit code 1 if one failed, died or is unknown')
    .option('--timeout <duration>', 'with --wait: give up after this (30s, 5m, 2h); the tasks go on', durationOption)
    .option('--partial', 'accept the good lines and name the bad ones; exit code 1 if there are any')
    .action(runs(submit));

async function submit(session: Session<Options>, handler: string): Promise<number> {
  const { out, options } = session;
  const client = await session.client({ handlers: true });
  client.handler(handler);
  const file = await stage(options.file);
  const ids = options.wait === true ? await LineSpool.open() : null;
  try {
    if (options.partial !== true) await checkFile(client, handler, file);
    const accepted = await acceptFile(client, handler, file, options.partial === true, ids);
    if (ids === null) {
      out.answer({ handler, ...accepted }, () => describe(handler, accepted));
      return accepted.refused > 0 ? EXIT.failed : EXIT.ok;
    }
    if (!out.json) out.note(describe(handler, accepted));
    return await waitAndReport(session, client, handler, accepted, ids);
  } finally {
    await file.close();
  }
}

const waitAndReport = async (
  session: Session<Options>,
  client: Client,
  handler: string,
  accepted: Accepted,
  ids: LineSpool,
): Promise<number> => {
  const { out, options } = session;
  out.note(`Waiting for ${plural(ids.count, 'task')}. Ctrl-C ends the waiting; the tasks go on.`);
  const waited = await waitForAll(client, ids, {
    timeoutMs: options.timeout,
    onTask: out.json ? (task) => out.stream(task) : undefined,
  });
  const { examples: _, ...ends } = waited; // each was a separate line
  if (out.json) await out.stream({ summary: { handler, ...accepted, ...ends } });
  else out.answer(null, () => summary(waited));
  if (waited.timedOut) return EXIT.timeout;
  return waited.bad > 0 || accepted.refused > 0 ? EXIT.failed : EXIT.ok;
};

const describe = (handler: string, { accepted, repeated, refused, problems }: Accepted): string => {
  const shown = problems.slice(0, 20).map((problem) => `  ${sayProblem(problem)}`);
  const more =
    refused > shown.length ? [`  and ${plural(refused - shown.length, 'more bad line', 'more bad lines')}`] : [];
  const counts = [
    `accepted ${plural(accepted, 'task')}`,
    repeated > 0 ? `${repeated} were there already` : '',
    refused > 0 ? `refused ${plural(refused, 'line')}` : '',
  ];
  return [`${handler}: ${counts.filter((text) => text !== '').join(', ')}`, ...shown, ...more].join('\n');
};

const summary = (waited: Waited): string =>
  fields([
    ...Object.entries(waited.states),
    ['after', duration(waited.ms)],
    ...waited.examples.map(({ id, state, error }) => [`${state}`, `${id}: ${error ?? 'no reason given'}`] as const),
    ['not ended', waited.timedOut ? `${plural(waited.open, 'task')} when the time was up; they go on` : null],
  ]);
