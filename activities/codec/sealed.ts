import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../../handlers/codec/codecError';
import type { Sealer } from '../../handlers/codec/sealer';
import { leftOut } from '../../handlers/storable';
import type { CallEnd } from '../calls/door';

/** Results and errors of a call on their way into the store, through the codec. */

/** The value of one member. */
export interface Entry {
  index: number;
  /** JSON text. */
  json: string;
  note: string | null;
}

/** Waits before an encode is tried again: what a downstream has answered is known here only. */
const WAITS_MS = [100, 500, 1_000, 2_000, 4_000];
/** Stands in place of an error text that could not be encoded. */
const UNSEALED = 'its error text could not be encoded';

/** Encodes the texts of an outcome. What cannot be encoded is left out, never stored as it is. */
export const sealOutcome = async (sealer: Sealer, outcome: CallEnd): Promise<CallEnd> => {
  if (!sealer.sealsTexts || outcome.kind === 'accepted' || outcome.kind === 'look-again') return outcome;
  if (outcome.kind !== 'results') return { ...outcome, error: await sealError(sealer, outcome.error) };
  const texts = [...new Set(outcome.deviants.flatMap(({ error }) => error ?? []))];
  const sealed = await patiently(() => sealer.sealTexts(texts)).catch(() => texts.map(() => UNSEALED));
  const by = new Map(texts.map((text, i) => [text, sealed[i]!]));
  const deviants = outcome.deviants.map((one) =>
    one.error === undefined ? one : { ...one, error: by.get(one.error)! },
  );
  return { ...outcome, deviants };
};

/** Encodes an error text. One that cannot be encoded is left out, never stored as it is. */
export const sealError = async (sealer: Sealer | null, text: string): Promise<string> =>
  sealer === null ? text : patiently(() => sealer.sealText(text)).catch(() => UNSEALED);

/**
 * Encodes results, each for its task by `idOf`. Where the codec does not work for seconds they are
 * left out, with a note: their tasks keep their status.
 */
export const sealResults = async (
  sealer: Sealer,
  entries: readonly Entry[],
  idOf: (index: number) => string,
): Promise<Entry[]> => {
  const values = entries.map(({ json }) => json);
  const ids = entries.map(({ index }) => idOf(index));
  try {
    const sealed = await patiently(() => sealer.seal('result', values, ids));
    return entries.map((entry, i) => ({ ...entry, json: sealed[i]! }));
  } catch (error) {
    const { json, note } = leftOut(`it could not be encoded (${reasonOf(error)})`);
    return entries.map(({ index }) => ({ index, json, note }));
  }
};

const patiently = async <T>(work: () => Promise<T>): Promise<T> => {
  for (const waitMs of WAITS_MS)
    try {
      return await work();
    } catch {
      await sleep(waitMs);
    }
  return work();
};
