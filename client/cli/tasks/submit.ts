import type { Command } from 'commander';
import type { Client } from '../../client';
import { command, durationOption } from '../support/command';
import { EXIT } from '../support/exitCodes';
import { sayProblem } from '../support/lineProblem';
import { duration, fields, plural } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';
import { LineSpool, stage } from '../support/spool';
import type { Accepted } from '../support/submitFile';
import type { Waited } from '../support/waitFor';
import { waitForAll } from '../support/waitFor';

interface Options {
  file: string;
  wait?: boolean;
  partial?: boolean;
  timeout?: number;
}

const NOTES = `Each line is one task: {"id", "payload"} and, optionally, "notBefore" and "expiresAt" (ISO times),
"priority" (lower goes first), "callback" ({"url"} or {"workflowId"}), "dependsOn" (ids of tasks that must
succeed first; put them before it in the file), "onDependencyFailure" ("fail" or "run"), "tags" (texts by
which "muster tasks --tag" finds it) and "metadata" (texts by name, shown with it). The whole file is
checked, then accepted in one transaction; if a line is bad, nothing is accepted. Submitting it again is
safe: the same id with the same payload is the same task.

With --json: {"handler", "accepted", "repeated", "refused", "problems"}; with --json --wait, NDJSON: one
line per task as it ends, and finally {"summary": ...}.`;

export const submitCommand = (): Command =>
  command(
    'submit',
    'Submit tasks from a JSON Lines file.',
    [
      'muster submit orders --file orders.ndjson',
      'produce-tasks | muster submit orders --file - --wait',
      'muster submit orders --file orders.ndjson --wait --json > results.ndjson',
    ],
    NOTES,
  )
    .argument('<handler>', 'a handler of the config file')
    .requiredOption('--file <file>', 'JSON Lines file; - for standard input')
    .option('--wait', 'wait for all tasks; exit code 1 unless all succeeded')
    .option(
      '--timeout <duration>',
      'with --wait: stop waiting after this (30s, 5m, 2h); the tasks continue',
      durationOption,
    )
    .option('--partial', 'accept valid lines, report bad ones; exit code 1 if any')
    .action(runs(submit));

async function submit(session: Session<Options>, handler: string): Promise<number> {
  const { out, options } = session;
  const client = await session.client({ handlers: true });
  client.handler(handler);
  const { acceptFile, checkFile } = await import('../support/submitFile.js');
  const file = await stage(session, options.file);
  const ids = options.wait === true ? await LineSpool.open() : null;
  try {
    if (options.partial !== true) await checkFile(client, handler, file, out);
    const accepted = await acceptFile(client, handler, file, options.partial === true, ids, out);
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
  out.note(`Waiting for ${plural(ids.count, 'task')}. Ctrl-C stops waiting; the tasks continue.`);
  const onTask = out.json ? (task: object) => out.stream(task) : undefined;
  const waited = await waitForAll(client, ids, { timeoutMs: options.timeout, onTask }, out);
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
    repeated > 0 ? `${repeated} had already been accepted` : '',
    refused > 0 ? `refused ${plural(refused, 'line')}` : '',
  ];
  return [`${handler}: ${counts.filter((text) => text !== '').join(', ')}`, ...shown, ...more].join('\n');
};

const summary = (waited: Waited): string =>
  fields([
    ...Object.entries(waited.states),
    ['after', duration(waited.ms)],
    ...waited.examples.map(({ id, state, error }) => [`${state}`, `${id}: ${error ?? 'no reason given'}`] as const),
    ['not ended', waited.timedOut ? `${plural(waited.open, 'task')} when the time was up; they continue` : null],
  ]);
