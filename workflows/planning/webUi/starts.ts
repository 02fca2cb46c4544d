/**
 * Formats what Temporal's Web UI shows of a workflow from its start on: a line, details in Markdown
 * and a memo. Setting them at the start costs no Temporal action. Pure.
 */

export type MusterWorkflow =
  'leader' | 'queuer' | 'execution' | 'monitor' | 'completion' | 'notifier' | 'balancer' | 'timer-probe';

/** What a run is for, as it stands in the memo, by which the Web UI can list it. */
export interface MusterMemo extends Record<string, unknown> {
  muster: MusterWorkflow;
  handler?: string;
  set?: string;
  queuer?: number;
  execution?: string;
}

export interface ShownStart {
  staticSummary: string;
  staticDetails: string;
  memo: MusterMemo;
}

/** Characters of a name that are kept: a server refuses a summary of more than 400 bytes. */
const LONGEST_NAME = 72;

/** Returns the text on one line and without what Markdown could read, cut to the length. */
const plain = (text: string): string =>
  [...text.replaceAll(/[\s`<>[\]]+/g, ' ')].slice(0, LONGEST_NAME).join('').toWellFormed();

interface Texts {
  memo: MusterMemo;
  summary: string;
  /** What it does, and when it ends. */
  does: string;
  /** Commands that say more, with what they say. */
  see: readonly (readonly [command: string, says: string])[];
  /** What comes of a cancellation in the Web UI. */
  cancel: string;
}

const shown = ({ memo, summary, does, see, cancel }: Texts): ShownStart => ({
  staticSummary: summary,
  staticDetails: [
    does,
    [...see.map(([command, says]) => `- \`muster ${command}\`: ${says}`), `- Cancel: ${cancel}`].join('\n'),
  ].join('\n\n'),
  memo,
});

const NEXT_WAKE = 'it begins nothing more, waits for calls in flight, and ends. The next wake starts it again.';
const AGAIN = 'it ends. What is due starts it again within seconds.';

export const leaderStart = ({ handler, name }: { handler: string; name: string }): ShownStart =>
  shown({
    memo: { muster: 'leader', handler, set: plain(name) },
    summary: `Leader of ${handler}, set ${plain(name)}`,
    does:
      `Forms the batches of handler **${handler}** for the targets of set \`${plain(name)}\`: ` +
      'a turn claims them, and one activity carries many of them. It ends when nothing waits; a submit starts it again.',
    see: [
      [`status ${handler}`, 'what waits, and what holds it back'],
      ['explain <task>', 'where a task is'],
    ],
    cancel: NEXT_WAKE,
  });

export const queuerStart = (queuerId: number): ShownStart =>
  shown({
    memo: { muster: 'queuer', queuer: queuerId },
    summary: `Queuer of partition ${queuerId}`,
    does:
      'Grants submitters to lanes, in the order that their strategy says. ' +
      'A submitter is an activity that sends one batch after the other; its last heartbeat says how many. It ends when no lane has anything to send.',
    see: [
      ['queuer', 'slots, grants and strategy'],
      ['lane <service>', 'the batches of a lane in order, and what halts it'],
    ],
    cancel: NEXT_WAKE,
  });

export const executionStart = (executionId: string): ShownStart =>
  shown({
    memo: { muster: 'execution', execution: executionId },
    summary: `Execution ${plain(executionId)}`,
    does:
      'Hands the items of an execution to nodes in chunks, each of which is one activity, ' +
      'round by round until all have ended. The store has the state of each item.',
    see: [[`execution ${plain(executionId)}`, 'items by state, and what it waits for']],
    cancel: 'the execution is cancelled: running items are interrupted, finished ones are kept.',
  });

export const monitorStart = (handler: string): ShownStart =>
  shown({
    memo: { muster: 'monitor', handler },
    summary: `Asks what became of accepted batches of ${handler}`,
    does:
      `Polls the batches that the downstream of handler **${handler}** has accepted and not finished, ` +
      'and takes completions that are signalled to it. It ends when there are none.',
    see: [['batch <number>', 'when a batch is asked for next']],
    cancel: AGAIN,
  });

export const notifierStart = (): ShownStart =>
  shown({
    memo: { muster: 'notifier' },
    summary: 'Delivers callbacks',
    does:
      'Tells callers by webhooks and signals what became of their tasks, batches and fan-outs, ' +
      'and tries again what its receiver does not take. It ends when nothing is due.',
    see: [['callbacks', 'those that were not delivered, and why']],
    cancel: AGAIN,
  });

export const balancerStart = (): ShownStart =>
  shown({
    memo: { muster: 'balancer' },
    summary: 'Spreads partitions over the nodes',
    does: 'Decides which node serves which partition, in rounds. It ends when nothing is left to move.',
    see: [
      ['partitions', 'who holds which'],
      ['nodes', 'which nodes are alive'],
    ],
    cancel: AGAIN,
  });

/** `batches`: of how many it says what became; null: of those that an ended monitor has left. */
export const completionStart = (handler: string, batches: number | null): ShownStart =>
  shown({
    memo: { muster: 'completion', handler },
    summary:
      batches === null
        ? `Reads the completions left by an ended monitor of ${handler}`
        : `What became of ${batches === 1 ? 'a batch' : `${batches} batches`} of ${handler}`,
    does: `Has a worker that serves **${handler}** record what the downstream reported. Its result says what came.`,
    see: [['batch <number>', 'the outcome']],
    cancel: 'what it has not recorded yet is not recorded; send the completion again.',
  });

export const timerProbeStart = (): ShownStart =>
  shown({
    memo: { muster: 'timer-probe' },
    summary: 'Measures the delay of timers; no worker serves it',
    does: 'A worker that starts measures how late this server fires short timers. It is terminated within seconds.',
    see: [['doctor', 'what was measured']],
    cancel: 'the worker does not know how late timers are; nothing else depends on it.',
  });

/** Returns the dashboard's page for a run; null: it has none. */
export const pageOf = ({ muster, handler, execution }: Partial<MusterMemo>): string | null => {
  if (execution !== undefined) return `#/executions/${encodeURIComponent(execution)}`;
  if (handler !== undefined) return `#/handlers/${encodeURIComponent(handler)}`;
  if (muster === undefined) return null;
  return PAGES[muster] ?? null;
};
const PAGES: Partial<Record<MusterWorkflow, string>> = {
  queuer: '#/lanes',
  notifier: '#/callbacks',
  balancer: '#/nodes',
};

/** Returns the line that leads to the dashboard. */
export const linkTo = (url: string): string => `[Open in the dashboard](${url})`;
