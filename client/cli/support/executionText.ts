import type { ChunkView, ExecutionView } from '../../executions/views';
import type { Execution } from '../../executions/handle';
import { EXIT } from './exitCodes';
import { fields, plural, table } from './output';
import type { Session } from './session';

/** Describes an execution as text for people. */
export const describeExecution = (view: ExecutionView, chunks: readonly ChunkView[]): string => {
  const { counts } = view;
  const text = fields([
    ['execution', view.id],
    ['runs', `${view.functionId}/${view.method}`],
    ['topic', view.topic],
    ['state', view.state],
    ['items', view.items],
    ['  done', counts.done],
    ['  permanently failed', counts.permanentlyFailed || null],
    ['  failed, to be retried', counts.failed || null],
    ['  in progress', counts.inProgress || null],
    ['  created', counts.created || null],
    ['attempts', view.attemptsLimit === null ? null : `at most ${view.attemptsLimit}`],
    ['round', view.round],
    ['message', view.message],
    ['created', view.createdAt],
    ['finished', view.finishedAt],
  ]);
  if (chunks.length === 0) return text;
  return `${text}\n${table(
    ['chunk', 'node', 'round', 'state', 'items', 'open', ''],
    chunks.map(({ id, node, round, state, items, open, reason }) => [
      id,
      node,
      round,
      state,
      items,
      open,
      reason ?? '',
    ]),
  )}`;
};

/** Most chunks that are shown. */
export const SHOWN_CHUNKS = 50;

/**
 * Waits until an execution has ended, then writes the answer: the execution, unless `write` writes
 * another one. Returns the exit code: that of the execution's end.
 */
export const waitForExecution = async (
  { out }: Session,
  execution: Execution,
  timeoutMs: number | undefined,
  write?: () => Promise<void>,
): Promise<number> => {
  out.note(`Execution ${execution.id}. Ctrl-C stops waiting; the execution continues.`);
  const { items } = await execution.progress();
  const bar = out.progress('running  ', items, 'items');
  let said = '';
  try {
    const view = await execution.wait({
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      onProgress: ({ state, counts }) => {
        bar.update(counts.done + counts.permanentlyFailed);
        if (state === 'created' && said === '') {
          said = 'roll call';
          out.note('Waiting for nodes that can run it.');
        }
      },
    });
    bar.stop();
    if (write === undefined) out.answer(view, () => describeExecution(view, []));
    else await write();
    if (view.counts.permanentlyFailed > 0)
      out.note(
        `${plural(view.counts.permanentlyFailed, 'item')} failed permanently: muster execution ${view.id} --items failed`,
      );
    return view.state === 'done' && view.counts.permanentlyFailed === 0 ? EXIT.ok : EXIT.failed;
  } finally {
    bar.stop();
  }
};
