import { isDeepStrictEqual } from 'node:util';
import { isUniqueViolation, withRetries } from '../../postgres/errors';
import * as store from '../../postgres/fanouts/fanout';
import type { Pool } from '../../postgres/pool';
import { registerRecipient } from '../../postgres/callbacks/recipient';
import type { FanoutView } from '../../workflows/contracts/fanout';
import type { SegmentRange } from '../../workflows/planning/fanouts/segments';
import { ADD_ITEMS, itemIds, joinRanges, splitAdd } from '../../workflows/planning/fanouts/segments';
import { fanoutStateName } from '../../workflows/planning/fanouts/states';
import type { AddItemsOptions, OpenFanoutOptions } from './check';
import { checkAdd, checkFanoutId, checkOpening } from './check';
import { InvalidArgumentError, NotFoundError } from '../errors';
import { FanoutStateError } from './errors';

export type { CompletedFanout, FanoutView } from '../../workflows/contracts/fanout';

/**
 * The result of an add. Iterating over it derives the ids one after the other, however many there
 * are.
 */
export class AddedItems implements Iterable<string> {
  constructor(
    readonly fanout: string,
    /**
     * The segments with their numbers of items, as the store returned them. Their size does not
     * depend on the number of items.
     */
    readonly ranges: readonly SegmentRange[],
  ) {}
  /** Number of items that were added. */
  get items(): number {
    return this.ranges.reduce((sum, range) => sum + range.items, 0);
  }
  /** Yields the ids, `fanoutId:segment:index`, in order. */
  [Symbol.iterator](): Iterator<string> {
    return itemIds(this.fanout, this.ranges);
  }
}

/** Most bits that a count of the open items reads, unless it is to be exact. */
const COUNTED_BITS = 80_000_000;

const REMEDY = {
  unknown: 'It was never opened, or was deleted after its retention period.',
  add: 'Nothing was added; open another fan-out for later items.',
  seal: 'It was idle for too long and has expired; nothing was changed.',
} as const;

export const openFanout = async (pool: Pool, options: OpenFanoutOptions): Promise<FanoutView> => {
  const opening = checkOpening(options);
  const { tenant = null } = options;
  const { id } = opening;
  // Before anything is written: an open that is repeated, or refused, registers no recipient.
  const before = id === null ? null : await store.findFanoutOpening(pool, id);
  const opened = before === null ? await insertFanout(pool, opening, tenant) : null;
  if (opened !== null) return requireFanout(pool, opened);
  const found = before ?? (await store.findFanoutOpening(pool, id!)); // another call was faster
  // Before all that tells of it: it may be another's, who has opened it by an id that it guessed.
  if (found !== null && found.tenant !== tenant)
    throw new InvalidArgumentError('id', 'an id that was not opened for another tenant, or for none', id);
  if (found === null || found.isDeleted) throw new NotFoundError('fan-out', id!, REMEDY.unknown);
  const { userKey, segmentSize, callback } = opening;
  const isSame =
    found.userKey === userKey && found.segmentSize === segmentSize && isDeepStrictEqual(found.address, callback);
  if (!isSame)
    throw new InvalidArgumentError(
      'id',
      'an id that was not opened before with other options',
      id,
      `It has userKey ${JSON.stringify(found.userKey)}, segmentSize ${found.segmentSize}, ` +
        `${receiverOf(found.address)}.`,
    );
  return requireFanout(pool, id!);
};

/** Names a receiver; of a webhook only its origin, since the rest of a URL may be a secret. */
const receiverOf = (address: unknown): string => {
  const { url, workflowId } = (address ?? {}) as { url?: string; workflowId?: string };
  if (url !== undefined) return `notify to ${URL.canParse(url) ? new URL(url).origin : 'a webhook'}`;
  return workflowId === undefined ? 'no notify' : `notify to the workflow ${JSON.stringify(workflowId)}`;
};

/** Null: there is one with this id. */
const insertFanout = async (
  pool: Pool,
  { id, userKey, segmentSize, callback }: ReturnType<typeof checkOpening>,
  tenant: string | null,
): Promise<string | null> => {
  const recipientId =
    callback === null ? null : await registerRecipient(pool, 'url' in callback ? 'webhook' : 'workflow', callback);
  return store.insertFanout(pool, { id, userKey, segmentSize, recipientId, tenant });
};

/**
 * Adds items in portions of at most `itemsPerCall` (default 10,000). Each portion is committed when
 * it is yielded, and memory holds only one portion. A caller that stops early has added the
 * portions that it has received.
 */
export async function* addItemsInParts(
  pool: Pool,
  fanout: string,
  n: number,
  options: AddItemsOptions = {},
): AsyncGenerator<AddedItems> {
  const id = checkFanoutId(fanout);
  const { items, key, perCall } = checkAdd(n, options);
  const { segmentSize } = await requireFanout(pool, id);
  let part = 0;
  for (const size of splitAdd(items, segmentSize, perCall))
    yield new AddedItems(id, [await addOnce(pool, id, size, key === null ? null : keyOfPart(key, part++))]);
}

const keyOfPart = (key: string, part: number): string => `${key}/${part}`;

/**
 * Returns how many of `n` items an add with this key, in portions of the default size, has added
 * already.
 */
export const itemsAdded = async (pool: Pool, fanout: string, n: number, key: string): Promise<number> => {
  const { segmentSize } = await requireFanout(pool, fanout);
  const parts = [...splitAdd(n, segmentSize, ADD_ITEMS)];
  return store.countAdded(
    pool,
    fanout,
    parts.map((_, part) => keyOfPart(key, part)),
  );
};

export const addItems = async (
  pool: Pool,
  fanout: string,
  n: number,
  options: AddItemsOptions = {},
): Promise<AddedItems> => {
  const ranges: SegmentRange[] = [];
  for await (const part of addItemsInParts(pool, fanout, n, options)) joinRanges(ranges, part.ranges[0]!);
  return new AddedItems(fanout, ranges);
};

/**
 * Adds items by one statement. With a key the statement may be repeated; without a key, a
 * connection error leaves open whether the items were added.
 */
const addOnce = async (pool: Pool, id: string, items: number, key: string | null): Promise<SegmentRange> => {
  const add = (): ReturnType<typeof store.insertSegments> =>
    store.insertSegments(pool, id, items, key).catch((error: unknown) => {
      if (key !== null && isUniqueViolation(error)) return null; // added before, as is read below
      throw error;
    });
  const added = await (key === null ? add() : withRetries(add));
  if (added !== null) return { first: added.first, items, segmentSize: added.segmentSize };
  const before = key === null ? null : await store.findAdd(pool, id, key);
  if (before !== null) {
    if (before.items === items) return before;
    throw new InvalidArgumentError(
      'items',
      `${before.items}, as in the first add with this key`,
      items,
      'Nothing was added; use another key for another add.',
    );
  }
  const { state } = await requireFanout(pool, id);
  if (state === 'open') throw new Error(`fan-out ${id} is open but accepted no items: this is a bug`);
  throw new FanoutStateError(id, state, 'an open fan-out', REMEDY.add);
};

/**
 * Seals a fan-out. `completed` is set for at most one call: that after which nothing was left to
 * ack.
 */
export const sealFanout = async (
  pool: Pool,
  fanout: string,
): Promise<{ state: 'sealed' | 'complete'; items: number; completed: store.CompletedRow | null }> => {
  const id = checkFanoutId(fanout);
  const sealed = await withRetries(() => store.sealFanout(pool, id));
  if (sealed !== null) return { ...sealed, state: sealed.completed === null ? 'sealed' : 'complete' };
  const { state, items } = await requireFanout(pool, id);
  if (state === 'sealed' || state === 'complete') return { state, items, completed: null };
  throw new FanoutStateError(id, 'expired', 'an open fan-out', REMEDY.seal);
};

export const getFanout = async (
  pool: Pool,
  fanout: string,
  { exact = false }: { exact?: boolean } = {},
): Promise<FanoutView | null> => {
  const row = await store.readFanout(pool, checkFanoutId(fanout));
  if (row === null) return null;
  const isCounted = row.openSegments > 0 && (exact || row.segments * row.segmentSize <= COUNTED_BITS);
  return fanoutViewOf(row, isCounted ? await store.countOpenItems(pool, row.id) : null);
};

/**
 * Returns the row of a fan-out without counting its open items.
 *
 * @throws NotFoundError
 */
export const requireFanout = async (pool: Pool, fanout: string): Promise<FanoutView> => {
  const row = await store.readFanout(pool, checkFanoutId(fanout));
  if (row === null) throw new NotFoundError('fan-out', fanout, REMEDY.unknown);
  return fanoutViewOf(row, null);
};

export const fanoutViewOf = (row: store.FanoutRow, open: number | null): FanoutView => {
  const { openedAt, activeAt, sealedAt, completedAt, expiredAt, state, ...rest } = row;
  const iso = (at: Date | null): string | null => at?.toISOString() ?? null;
  return {
    ...rest,
    state: fanoutStateName(state),
    open: row.openSegments === 0 ? 0 : open,
    openedAt: openedAt.toISOString(),
    activeAt: activeAt.toISOString(),
    sealedAt: iso(sealedAt),
    completedAt: iso(completedAt),
    expiredAt: iso(expiredAt),
  };
};
