import { isEnveloped } from '../../handlers/codec/envelope';
import type { Sealer } from '../../handlers/codec/sealer';
import type { TaskEnd, TasksEnded } from '../../workflows/definitions';

/**
 * Decodes the results and errors of ended tasks. A result that cannot be decoded is left out, and
 * its note says why.
 *
 * @throws CodecError where the codec or the object store does not work at all.
 */
export const openEnds = async (sealer: Sealer, ends: readonly TaskEnd[]): Promise<TaskEnd[]> => {
  const errors = await sealer.openTexts(ends.map(({ error }) => error ?? ''));
  const results = await sealer.open(
    'result',
    ends.map(({ result }) => (isEnveloped(result) ? JSON.stringify(result) : 'null')),
    ends.map(({ id }) => id),
  );
  return ends.map((end, i) => {
    const withError = end.error === undefined ? end : { ...end, error: errors[i]! };
    if (!isEnveloped(end.result)) return withError;
    const opened = results[i]!;
    if (typeof opened === 'string') return { ...withError, result: JSON.parse(opened) as unknown };
    if (opened.away) throw opened;
    const { result: _, ...rest } = withError;
    return { ...rest, resultNote: `left out: ${opened.message}` };
  });
};

export const openMessage = async (sealer: Sealer, message: TasksEnded): Promise<TasksEnded> => ({
  ...message,
  tasks: await openEnds(sealer, message.tasks),
});
