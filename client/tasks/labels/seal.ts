import type { Sealer } from '../../../handlers/codec/sealer';
import type { Labels } from '../../../postgres/grouping/labels';
import { orCodecFailure } from '../../codecFailure';

/**
 * Encodes the metadata of tasks, where there is a codec; tags stay as they are, since they are
 * searched for.
 *
 * @throws MusterError with code CODEC_FAILED if the codec does not work.
 */
export const sealLabels = async <T extends { id: string; labels: Labels | null }>(
  sealer: Sealer | null,
  tasks: readonly T[],
): Promise<T[]> => {
  const plain = tasks.flatMap(({ id, labels }) => {
    const metadata = labels?.metadata ?? null;
    return metadata === null ? [] : [{ id, metadata }];
  });
  if (sealer === null || plain.length === 0) return [...tasks];
  const sealed = await sealAll(sealer, plain);
  let at = 0;
  return tasks.map((task) =>
    (task.labels?.metadata ?? null) === null
      ? task
      : { ...task, labels: { tags: task.labels!.tags, metadata: sealed[at++]! } },
  );
};

const sealAll = (sealer: Sealer, plain: readonly { id: string; metadata: string }[]): Promise<string[]> => {
  const texts = plain.map(({ metadata }) => metadata);
  const ids = plain.map(({ id }) => id);
  return orCodecFailure(
    sealer.seal('metadata', texts, ids),
    (why) => `Cannot encode the metadata: ${why}. Submit again once it works: nothing was accepted.`,
  );
};
