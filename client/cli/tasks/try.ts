import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { Batch, Handler } from '../../../handlers';
import type { CallOutcome } from '../../../workflows/planning/calls/plans';
import { UnknownHandlerError } from '../../errors';
import { command } from '../support/command';
import { EXIT } from '../support/exitCodes';
import { fields, plural, printable, table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';
import { stage } from '../support/spool';
import type { TryBatch } from '../support/tryPlan';

interface Options {
  file: string;
  send?: boolean;
}

const NOTES = `Needs no Postgres and no Temporal. Shows the batches that form if all tasks arrive at once and none
later. --send really makes the first call, once, and shows how Muster would interpret the answer;
nothing is stored. Exit code 1 unless every task of it is ok.
With --json: {"handler", "tasks", "batches", "call", "outcome"}.`;
const SHOWN_BATCHES = 50;
const SHOWN_BODY = 4_000;

export const tryCommand = (): Command =>
  command(
    'try',
    'Show what a handler would do with tasks, without any server.',
    ['muster try orders --file orders.ndjson', 'head -20 orders.ndjson | muster try orders --file - --send'],
    NOTES,
  )
    .argument('<handler>', 'a handler of the config file')
    .requiredOption('--file <file>', 'JSON Lines file, as for `muster submit`; - for standard input')
    .option('--send', 'really make the first call')
    .action(runs(tryHandler));

async function tryHandler(session: Session<Options>, name: string): Promise<number> {
  const { file: fileName, send } = session.options;
  const { handlers } = await session.settings({ handlers: true });
  const handler = handlers.find((one) => one.name === name);
  if (handler === undefined)
    throw new UnknownHandlerError(
      name,
      handlers.map((one) => one.name),
    );
  const [{ readForPlan, readLines }, { planBatches }] = await Promise.all([
    import('../support/tryFile.js'),
    import('../support/tryPlan.js'),
  ]);
  const file = await stage(session, fileName);
  try {
    const byTarget = await readForPlan(handler, file);
    const batches = planBatches(handler, byTarget);
    const first = batches[0];
    const batch = first === undefined ? null : toBatch(handler, first, await readLines(handler, file, first.seqs));
    const call = batch === null ? null : callOf(handler, batch);
    const outcome = batch === null || send !== true ? null : await sendOnce(handler, batch);
    const tasks = [...byTarget.values()].reduce((sum, list) => sum + list.length, 0);
    const shown = batches.map(({ target, seqs, reason, bytes, weight, superseded }) => ({
      target,
      items: seqs.length,
      bytes,
      weight,
      reason,
      lines: seqs,
      ...(superseded === undefined ? {} : { superseded: superseded.map(({ seq }) => seq) }),
    }));
    session.out.answer({ handler: name, tasks, batches: shown, call, outcome }, () =>
      describe(tasks, batches, call, outcome),
    );
    return outcome === null || outcome.ok ? EXIT.ok : EXIT.failed;
  } finally {
    await file.close();
  }
}

const toBatch = (
  handler: Handler,
  { target }: TryBatch,
  tasks: readonly { id: string; payload: unknown }[],
): Batch => ({
  id: 'try',
  handler: handler.name,
  target,
  tasks: tasks.map((task) => ({ ...task, attempts: 0 })),
  epoch: 0,
  attempt: 1,
});

/**
 * Returns the call as an HTTP handler encodes it. For a handler in code only its input is known.
 */
const callOf = (handler: Handler, batch: Batch): object =>
  handler.preview?.(batch) ?? {
    input: { target: batch.target, tasks: batch.tasks.map(({ id, payload }) => ({ id, payload })) },
  };

interface Sent {
  ok: boolean;
  outcome: CallOutcome;
  /** Results that came with the answer, in the order of the batch. */
  results: { id: string; result: unknown }[];
  ms: number;
}

const sendOnce = async (handler: Handler, batch: Batch): Promise<Sent> => {
  const [{ callHandler }, { boundLog }, { pino }] = await Promise.all([
    import('../../../handlers/index.js'),
    import('../../../handlers/logging/boundLog.js'),
    import('pino'),
  ]);
  const log = pino({ level: 'debug', base: undefined }, pino.destination({ fd: 2, sync: true }));
  const results: Sent['results'] = [];
  const begun = performance.now();
  const context = {
    signal: new AbortController().signal,
    idempotencyKey: `muster-try-${randomUUID()}`,
    deadline: Date.now() + handler.timeoutMs,
    log: boundLog(log, { handler: handler.name, target: batch.target }),
  };
  const outcome = await callHandler(handler, batch, context, {
    add: (index, result) => void results.push({ id: batch.tasks[index]!.id, result }),
  });
  const ok = outcome.kind === 'accepted' || (outcome.kind === 'results' && outcome.deviants.length === 0);
  return { ok, outcome, results: outcome.kind === 'results' ? results : [], ms: Math.round(performance.now() - begun) };
};

const describe = (tasks: number, batches: readonly TryBatch[], call: object | null, sent: Sent | null): string => {
  if (call === null) return 'The file holds no tasks.';
  const rows = batches
    .slice(0, SHOWN_BATCHES)
    .map(({ target, seqs, bytes, weight, reason }) => [target, seqs.length, bytes, weight, reason]);
  const more =
    batches.length > rows.length ? [`and ${plural(batches.length - rows.length, 'more batch', 'more batches')}`] : [];
  const unsent = batches.reduce((sum, { superseded = [] }) => sum + superseded.length, 0);
  const instead = unsent === 0 ? '' : ` (${unsent} not sent, for later ones of their coalesceBy keys)`;
  return [
    `${plural(tasks, 'task')} would go in ${plural(batches.length, 'batch', 'batches')}${instead}:`,
    table(['target', 'items', 'bytes', 'weight', 'closed by'], rows),
    ...more,
    '',
    sent === null ? 'The first call would be (--send makes it):' : 'The first call:',
    showCall(call),
    ...(sent === null ? [] : ['', showSent(sent)]),
  ].join('\n');
};

interface Input {
  target: string;
  tasks: { id: string; payload: unknown }[];
}
const showCall = (call: object): string => {
  const { method, url, headers, body, input } = call as {
    method?: string;
    url?: string;
    headers?: Record<string, string>;
    body?: string;
    input?: Input;
  };
  if (url === undefined) return cut(showInput(input));
  return [
    `${method} ${url}`,
    ...Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    '',
    ...cut(body ?? '')
      .trimEnd()
      .split('\n'),
  ]
    .map((line) => (line === '' ? '' : `  ${printable(line)}`))
    .join('\n');
};
const showInput = ({ target, tasks }: Input = { target: '', tasks: [] }): string =>
  [
    `  submit of target ${printable(target)}:`,
    ...tasks.map(({ id, payload }) => `  ${printable(id)}  ${JSON.stringify(payload)}`),
  ].join('\n');
const cut = (text: string): string =>
  text.length > SHOWN_BODY ? `${text.slice(0, SHOWN_BODY)}\n... ${text.length - SHOWN_BODY} characters more` : text;

const showSent = ({ outcome, results, ms }: Sent): string => {
  const { kind, ...rest } = outcome;
  if (outcome.kind !== 'results') return fields([['outcome', `${kind} (after ${ms} ms)`], ...Object.entries(rest)]);
  const deviants = outcome.deviants.map(
    ({ index, status, error }) => `  place ${index}: ${status}${error === undefined ? '' : `, ${printable(error)}`}`,
  );
  const shown = results.slice(0, 5).map(({ id, result }) => `  ${printable(id)}: ${printable(JSON.stringify(result))}`);
  return [
    `outcome  ${deviants.length === 0 ? 'every task ok' : `${plural(deviants.length, 'task')} not ok`} (after ${ms} ms)`,
    ...deviants.slice(0, 20),
    ...shown,
  ].join('\n');
};
