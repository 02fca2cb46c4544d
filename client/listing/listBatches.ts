import type { ListedBatch, LookedBatch } from '../../postgres/listing/batchList';
import { readListedBatches } from '../../postgres/listing/batchList';
import type { BatchPage, BatchSummary } from '../../workflows/contracts/batch';
import { PAGE_MAX } from '../../workflows/planning/pages';
import type { BatchState } from '../../workflows/planning/states';
import { BATCH_STATES, batchStateName, flushReasonName } from '../../workflows/planning/states';
import { checkErrorPart, checkOneOf, checkWhole } from '../arguments';
import type { ClientContext } from '../context';
import { findScope } from '../operations/scope';
import { LOOKED } from '../tasks/list/ended';
import { batchSource } from './batchSources';
import type { Place } from './pageCursor';
import { decodePlace, encodePlace, MOST_LOOKS } from './pageCursor';

/** Options of `batches.list`: which batches, and which page of them. */
export interface ListBatchesOptions {
  /** Only batches in this state; default: in any. */
  state?: BatchState;
  /** Only batches of this target; default: of the whole handler. */
  target?: string;
  /** Only batches whose error contains this text (1 to 1,000 characters, as it is written). */
  error?: string;
  /** Most batches of the page, 1 to 1,000. Default 100. */
  limit?: number;
  /** The `next` of the page before. */
  after?: string;
}

const STATES = Object.keys(BATCH_STATES) as BatchState[];
/** Batches whose errors are read at once. */
const READ = 500;

export const listBatches = async (
  client: ClientContext,
  handler: string,
  options: ListBatchesOptions = {},
): Promise<BatchPage> => {
  const state = options.state === undefined ? null : checkOneOf('state', options.state, STATES);
  const limit = checkWhole('limit', options.limit ?? 100, 1, PAGE_MAX);
  const error = options.error === undefined ? null : checkErrorPart('error', options.error);
  const source = batchSource(state, options.target !== undefined);
  const list = `batches ${source.name}`;
  let place: Place | null = decodePlace(list, source.first, options.after);
  const { handlerId, targetId } = await findScope(client, handler, options.target);
  const scope = { handlerId, targetId, state: state === null ? null : BATCH_STATES[state] };
  const batches: BatchSummary[] = [];
  for (let looks = 0; place !== null && batches.length < limit && looks < MOST_LOOKS; looks++) {
    const rows = await source.look(client.pool, scope, place, LOOKED);
    const wanted = limit - batches.length;
    const part = upTo(rows, error === null ? wanted : Math.max(wanted, READ));
    const found = await summaries(client, part, state, error);
    const kept = found.slice(0, wanted);
    batches.push(...kept);
    const isAll = kept.length === found.length;
    const last = isAll ? part.at(-1) : part.find(({ id }) => id === kept.at(-1)!.id);
    place = isAll && part.length === rows.length && rows.length < LOOKED ? null : last!.place;
  }
  return { batches, next: place === null ? null : encodePlace(list, place) };
};

/** Returns the rows up to the last one of so many that match. */
const upTo = (rows: readonly LookedBatch<Place>[], most: number): readonly LookedBatch<Place>[] => {
  let matching = 0;
  const end = rows.findIndex(({ matches }) => matches && ++matching === most);
  return end < 0 ? rows : rows.slice(0, end + 1);
};

/** Reads the batches as they are now, and leaves out those that have moved on or do not match. */
const summaries = async (
  { pool, sealer }: ClientContext,
  looked: readonly LookedBatch<Place>[],
  state: BatchState | null,
  error: string | null,
): Promise<BatchSummary[]> => {
  const ids = looked.filter(({ matches }) => matches).map(({ id }) => id);
  const rows = ids.length === 0 ? [] : await readListedBatches(pool, ids);
  const texts = rows.map((row) => row.error ?? '');
  const plain = sealer === null || error === null ? texts : await sealer.openTexts(texts);
  const kept = rows.filter((_, i) => error === null || plain[i]!.includes(error)).map(toSummary);
  const byId = new Map(kept.map((one) => [one.id, one]));
  return ids.flatMap((id) => byId.get(id) ?? []).filter((one) => state === null || one.state === state);
};

const toSummary = (row: ListedBatch): BatchSummary => ({
  ...row,
  state: batchStateName(row.state),
  reason: flushReasonName(row.reason),
  retryAt: row.retryAt?.toISOString() ?? null,
  createdAt: row.createdAt.toISOString(),
  startedAt: row.startedAt?.toISOString() ?? null,
  finishedAt: row.finishedAt?.toISOString() ?? null,
});
