import { isEnveloped } from '../../handlers/codec/envelope';
import type { Sealer } from '../../handlers/codec/sealer';
import { orCodecFailure } from '../codecFailure';

/** Argument lists and outputs of executions on their way through the codec. */

/** Encodes argument lists. Throws `MusterError` with code CODEC_FAILED. */
export const sealArguments = async (sealer: Sealer | null, lists: readonly string[]): Promise<string[]> => {
  if (sealer === null) return [...lists];
  return orCodecFailure(
    sealer.seal('arguments', lists, null),
    (why) => `Cannot encode the argument lists: ${why}. Execute again with the same requestId once it works.`,
  );
};

interface Item {
  arguments: string[];
  stdout: string | null;
  stderr: string | null;
}

/**
 * Decodes argument lists and outputs of items. What cannot be decoded says so: a list of arguments
 * has that as its only text.
 */
export const openItems = async <T extends Item>(sealer: Sealer | null, items: readonly T[]): Promise<T[]> => {
  if (sealer === null)
    return items.map((item) => (isEnveloped(item.arguments) ? { ...item, arguments: [ENCODED] } : item));
  const lists = await sealer.open(
    'arguments',
    items.map((item) => JSON.stringify(item.arguments)),
    null,
  );
  const texts = await sealer.openTexts(items.flatMap(({ stdout, stderr }) => [stdout ?? '', stderr ?? '']));
  return items.map((item, i) => {
    const list = lists[i]!;
    const stdout = item.stdout === null ? null : texts[2 * i]!;
    const stderr = item.stderr === null ? null : texts[2 * i + 1]!;
    const args = typeof list === 'string' ? (JSON.parse(list) as string[]) : [`(cannot be decoded: ${list.message})`];
    return { ...item, arguments: args, stdout, stderr };
  });
};

const ENCODED = '(encoded: no payloadCodec is configured here)';
