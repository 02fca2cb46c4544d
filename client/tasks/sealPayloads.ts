import type { Note } from '../../handlers/codec/claimCheck';
import type { Sealer } from '../../handlers/codec/sealer';
import type { Contract } from '../../handlers/types';
import type { Labels } from '../../postgres/grouping/labels';
import { MusterError, InvalidTaskError } from '../errors';
import type { TaskProblem } from '../errors';
import type { CheckedTask } from './checkTasks';
import { sealLabels } from './labels/seal';
import { orCodecFailure } from '../codecFailure';

/** Most bytes of an encoded payload, beyond twice the handler's limit of plain ones. */
const ENVELOPE_BYTES = 4_096;

/** Returns the most bytes that an encoded payload of the handler may have. */
export const encodedLimit = ({ maxPayloadBytes }: Pick<Contract, 'maxPayloadBytes'>): number =>
  2 * maxPayloadBytes + ENVELOPE_BYTES;

/**
 * Encodes the payloads and metadata of tasks, before anything but their objects (by `note`) is
 * written. Returns those that can be stored; with `partial`, those that are too large when they are
 * encoded are added to `refused`.
 *
 * @throws InvalidTaskError for such payloads, unless `partial`.
 * @throws MusterError with code CODEC_FAILED if the codec or the object store does not work.
 */
export const sealPayloads = async (
  sealer: Sealer,
  handler: Contract,
  tasks: readonly CheckedTask[],
  partial: boolean,
  refused: TaskProblem[],
  note?: Note,
): Promise<{ tasks: CheckedTask[]; payloads: string[] }> => {
  const sealed = await sealAll(sealer, tasks, note);
  const most = encodedLimit(handler);
  const isLarge = (_: unknown, i: number): boolean => Buffer.byteLength(sealed[i]!) > most;
  const large = tasks.flatMap((task, i) => (isLarge(task, i) ? [problemOf(task, most, sealed[i]!)] : []));
  if (large.length === 0) return { tasks: await sealLabels(sealer, tasks), payloads: sealed };
  if (!partial) throw new InvalidTaskError(large);
  refused.push(...large);
  const fits = tasks.flatMap((task, i) => (isLarge(task, i) ? [] : [{ task, payload: sealed[i]! }]));
  const kept = fits.map(({ task }) => task);
  return { tasks: await sealLabels(sealer, kept), payloads: fits.map(({ payload }) => payload) };
};

/** What is stored of the items of a lane batch, in their order. */
export interface SealedBatch {
  payloads: string[];
  labels: { id: string; labels: Labels | null }[];
}

/** Returns what is stored of the items of each batch. Throws as `sealPayloads` does. */
export const sealBatches = async (
  sealer: Sealer | null,
  handler: Contract,
  batches: readonly { tasks: readonly CheckedTask[] }[],
  note?: Note,
): Promise<SealedBatch[]> => {
  if (sealer === null)
    return batches.map(({ tasks }) => ({ payloads: tasks.map(({ payload }) => payload), labels: [...tasks] }));
  const all = batches.flatMap(({ tasks }) => tasks);
  const sealed = await sealPayloads(sealer, handler, all, false, [], note);
  let at = 0;
  return batches.map(({ tasks: { length } }) => {
    const [from, to] = [at, (at += length)];
    return { payloads: sealed.payloads.slice(from, to), labels: sealed.tasks.slice(from, to) };
  });
};

const sealAll = (sealer: Sealer, tasks: readonly CheckedTask[], note?: Note): Promise<string[]> => {
  const payloads = tasks.map(({ payload }) => payload);
  const ids = tasks.map(({ id }) => id);
  return orCodecFailure(
    sealer.seal('payload', payloads, ids, note),
    (why) => `Cannot encode the payloads: ${why}. Submit again once it works: nothing was accepted.`,
  );
};

const problemOf = ({ index, id }: CheckedTask, most: number, sealed: string): TaskProblem => ({
  index,
  id,
  field: 'payload',
  code: 'PAYLOAD_TOO_LARGE',
  message:
    `expected at most ${most} bytes once it is encoded by the payload codec, got ${Buffer.byteLength(sealed)}. ` +
    'Store it elsewhere and submit a reference, or raise maxPayloadBytes.',
});

/** Returns stored tasks with their payloads decoded, to compare them with repeated ones. */
export const openStored = async <T extends { id: string; payload: string }>(
  sealer: Sealer,
  stored: readonly T[],
): Promise<T[]> => {
  const opened = await sealer.open(
    'payload',
    stored.map(({ payload }) => payload),
    stored.map(({ id }) => id),
  );
  return stored.map((task, i) => {
    const payload = opened[i]!;
    if (typeof payload === 'string') return { ...task, payload };
    throw new MusterError(
      payload.code,
      `Cannot compare task ${JSON.stringify(task.id)} with the accepted task of this id: ${payload.message}. ` +
        'Submit again once it can be decoded: nothing was accepted.',
      { cause: payload },
    );
  });
};
