import type { Sealer } from '../../handlers/codec/sealer';
import type { GivenItem, ItemResult } from '../../postgres/executions/workItem';
import { sealError } from './sealed';

/** Items of a chunk and their results on their way through the codec. */

/** An item to be run; `unreadable`: why it cannot be. */
export type OpenedItem = GivenItem & { unreadable?: string };

/**
 * Decodes the argument lists of items. One that the codec refuses fails, and is tried again.
 *
 * @throws CodecError where the codec does not work at all.
 */
export const openGiven = async (sealer: Sealer, items: readonly GivenItem[]): Promise<OpenedItem[]> => {
  const lists = await sealer.open(
    'arguments',
    items.map((item) => JSON.stringify(item.arguments)),
    null,
  );
  const away = lists.find((one) => typeof one !== 'string' && one.away);
  if (away !== undefined) throw away;
  return items.map(({ position }, i) => {
    const list = lists[i]!;
    return typeof list === 'string'
      ? { position, arguments: JSON.parse(list) as string[] }
      : { position, arguments: [], unreadable: `its arguments cannot be decoded: ${list.message}` };
  });
};

/** Encodes what items have written. */
export const sealOutputs = (sealer: Sealer, results: readonly ItemResult[]): Promise<ItemResult[]> =>
  Promise.all(
    results.map(async (result) => ({
      ...result,
      stdout: await sealError(sealer, result.stdout),
      stderr: await sealError(sealer, result.stderr),
    })),
  );
