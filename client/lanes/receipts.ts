import { readBatch, readBatchMembers } from '../../postgres/operations/batchView';
import type { Pool } from '../../postgres/pool';
import type { StoredEnd } from '../../postgres/callbacks/taskEnd';
import { readTaskEnds, readValues } from '../../postgres/callbacks/taskEnd';
import type { TaskState } from '../../workflows/planning/states';
import { taskStateName } from '../../workflows/planning/states';
import { checkWhole } from '../arguments';
import { chunksOf, IDS_PER_STATEMENT } from '../context';
import { NotFoundError } from '../errors';
import { MEMBERS_MAX } from '../operations/batch';

/** The downstream's report on one item of a batch. */
export interface Receipt {
  id: string;
  /** `valid`: applied; `invalid`: refused permanently; null: not known yet. */
  receipt: 'valid' | 'invalid' | null;
  state: TaskState;
  /** Why the item was refused, or its last error so far; null: none, or see `messageOmitted`. */
  message: string | null;
  /** `message` was not kept, since those of the batch exceed 8 MB. `tasks.get` reads it. */
  messageOmitted?: true;
  /** The value that the downstream returned for the item, if any. */
  data?: unknown;
  /**
   * `data` was not read, since the values of the batch exceed 16 MB: up to there they are read, in
   * groups of 1,000 items. `tasks.get` reads it.
   */
  dataOmitted?: true;
}

const DATA_BYTES_MAX = 16_000_000;
const MESSAGES_BYTES_MAX = 8_000_000;

/** Finds the receipt of every item, in whichever batch retries and splits have put it. */
export const receipts = async (pool: Pool, batch: number): Promise<Receipt[]> => {
  checkWhole('batch', batch, 1, Number.MAX_SAFE_INTEGER);
  if ((await readBatch(pool, batch)) === null)
    throw new NotFoundError('batch', String(batch), 'It does not exist, or it was deleted after its retention period.');
  const members = await readBatchMembers(pool, batch, MEMBERS_MAX);
  const all: Receipt[] = [];
  const cut = cutMessages(MESSAGES_BYTES_MAX);
  let leftBytes = DATA_BYTES_MAX;
  for (const chunk of chunksOf(members, IDS_PER_STATEMENT)) {
    const ends = new Map(
      (
        await readTaskEnds(
          pool,
          chunk.map(({ id }) => id),
        )
      ).map((end) => [end.id, end]),
    );
    const data = await readData(pool, [...ends.values()], leftBytes);
    leftBytes -= [...(data?.values() ?? [])].reduce((sum, value) => sum + Buffer.byteLength(value), 0);
    for (const { id } of chunk) all.push(cut(toReceipt(id, ends.get(id)!, data)));
  }
  return all;
};

/** Returns what leaves out the messages of receipts after those that have so many bytes. */
const cutMessages = (maxBytes: number): ((receipt: Receipt) => Receipt) => {
  let leftBytes = maxBytes;
  return (receipt) => {
    if (receipt.message === null) return receipt;
    leftBytes -= Buffer.byteLength(receipt.message);
    return leftBytes >= 0 ? receipt : { ...receipt, message: null, messageOmitted: true };
  };
};

const keyOf = (batchId: number, place: number): string => `${batchId}/${place}`;

/** Returns values by their places. Null: they exceed `maxBytes`. */
const readData = async (
  pool: Pool,
  ends: readonly StoredEnd[],
  maxBytes: number,
): Promise<ReadonlyMap<string, string> | null> => {
  const places = ends.flatMap(({ batchId, attempt, place }) =>
    batchId === null || attempt === null || place === null ? [] : [{ batchId, attempt, place }],
  );
  const values = await readValues(pool, places, maxBytes);
  return values && new Map(values.map(({ batchId, place, value }) => [keyOf(batchId, place), value]));
};

const toReceipt = (id: string, end: StoredEnd, data: ReadonlyMap<string, string> | null): Receipt => {
  const state = taskStateName(end.state);
  const isElsewhere = end.result === null && end.batchId !== null;
  const json = isElsewhere ? data?.get(keyOf(end.batchId!, end.place!)) : (end.result ?? undefined);
  return {
    id,
    receipt: state === 'succeeded' ? 'valid' : state === 'failed' ? 'invalid' : null,
    state,
    message: end.error,
    ...(json === undefined ? {} : { data: JSON.parse(json) as unknown }),
    ...(isElsewhere && data === null ? { dataOmitted: true } : {}),
  };
};
