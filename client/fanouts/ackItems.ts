import type { AckAnswer, BadWant } from '../../postgres/fanouts/ack';
import * as store from '../../postgres/fanouts/ack';
import { withRetries } from '../../postgres/errors';
import { codeOf } from '../../postgres/sqlState';
import type { CompletedRow } from '../../postgres/fanouts/fanout';
import type { Pool } from '../../postgres/pool';
import type { SegmentWant } from '../../workflows/planning/fanouts/acks';
import { groupItems, splitWants } from '../../workflows/planning/fanouts/acks';
import { getBit } from '../../workflows/planning/fanouts/bits';
import { itemIdOf, parseItemId } from '../../workflows/planning/fanouts/itemId';
import { ACK_IDS, MAX_ACK_IDS } from '../../workflows/planning/fanouts/segments';
import { checkWhole } from '../arguments';
import { InvalidArgumentError } from '../errors';
import type { ItemProblem } from './errors';
import { InvalidItemError } from './errors';

/** One item id, several ids, or a stream of ids of any length. */
export type ItemSource = string | Iterable<string> | AsyncIterable<string>;
/** Options of `items.ack` and `items.reopen`. */
export interface AckOptions {
  /**
   * Most ids per statement, 1-10,000; default 100. A statement is applied as a whole or not at all.
   * Many ids per statement are much cheaper.
   */
  idsPerCall?: number;
}
export interface Acked {
  /** Number of different items in the call. */
  items: number;
  /** Number of items that were not acked before (or, for a reopen, that were). */
  acked: number;
  completed: CompletedRow[];
}

/**
 * Ids that are read at a time and then sorted by segment, so that a segment is written once for
 * many of its ids.
 */
const IDS_PER_GROUP = 10_000;

export const ackItems = (pool: Pool, ids: ItemSource, options: AckOptions = {}): Promise<Acked> =>
  change(ids, options, (wants) => store.ackItems(pool, wants));

export const reopenItems = (pool: Pool, ids: ItemSource, options: AckOptions = {}): Promise<Acked> =>
  change(ids, options, (wants) => store.reopenItems(pool, wants));

const change = async (
  ids: ItemSource,
  { idsPerCall = ACK_IDS }: AckOptions,
  apply: (wants: readonly SegmentWant[]) => Promise<AckAnswer>,
): Promise<Acked> => {
  const perCall = checkWhole('idsPerCall', idsPerCall, 1, MAX_ACK_IDS);
  const sum: Acked = { items: 0, acked: 0, completed: [] };
  for await (const group of groups(ids)) {
    const { wants, malformed } = groupItems(group);
    if (malformed.length > 0) throw new InvalidItemError(malformed.map(malformedId), sum.acked);
    for (const portion of splitWants(wants, perCall)) {
      // Acks are idempotent, so the same portion may be sent again even after a lost connection.
      const answer = await withRetries(() => onceMore(() => apply(portion)));
      if (answer.bad.length > 0)
        throw new InvalidItemError(
          answer.bad.flatMap((bad) => problemsOf(bad, portion[bad.at]!)),
          sum.acked,
        );
      sum.items += portion.reduce((n, { indexes }) => n + indexes.length, 0);
      sum.acked += answer.changed;
      sum.completed.push(...answer.completed);
    }
  }
  return sum;
};

/**
 * Runs the statement again if it was refused because a fan-out has just ended: the second run
 * reports which fan-out that is.
 */
const onceMore = async (work: () => Promise<AckAnswer>): Promise<AckAnswer> => {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) !== store.REFUSED) throw error;
    return work();
  }
};

async function* groups(ids: ItemSource): AsyncGenerator<string[]> {
  if (typeof ids === 'string') {
    yield [ids];
    return;
  }
  const isMany = ids !== null && typeof ids === 'object' && (Symbol.iterator in ids || Symbol.asyncIterator in ids);
  if (!isMany) throw new InvalidArgumentError('ids', 'an item id or several', ids);
  let group: string[] = [];
  for await (const id of ids) {
    group.push(id);
    if (group.length < IDS_PER_GROUP) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

const malformedId = (id: unknown): ItemProblem => ({
  id: String(id),
  code: 'MALFORMED_ID',
  message: 'expected fanoutId:segment:index, such as 0190f6a0-0000-4000-8000-000000000001:0:17',
});

const WORDS: Readonly<
  Record<BadWant['why'], (want: SegmentWant, size: number | null) => [ItemProblem['code'], string]>
> = {
  fanout: ({ fanout }) => ['UNKNOWN_FANOUT', `fan-out ${fanout} not found`],
  expired: ({ fanout }) => ['FANOUT_EXPIRED', `fan-out ${fanout} was idle for too long and has expired`],
  complete: ({ fanout }) => ['FANOUT_COMPLETE', `fan-out ${fanout} is complete, and its completion was reported`],
  segment: ({ fanout, segment }) => ['UNKNOWN_SEGMENT', `fan-out ${fanout} has no segment ${segment}`],
  index: ({ segment }, size) => ['INDEX_PAST_END', `segment ${segment} has ${size} items, 0 to ${size! - 1}`],
};

/**
 * Returns the problems of a refused segment, one per id. If the problem is an index past the end,
 * only ids with such an index are returned.
 */
const problemsOf = ({ why, size }: BadWant, want: SegmentWant): ItemProblem[] => {
  const [code, message] = WORDS[why](want, size);
  const wrong = why === 'index' ? want.indexes.filter((index) => index >= size!) : want.indexes;
  return wrong.map((index) => ({ id: itemIdOf(want.fanout, want.segment, index), code, message }));
};

export const readItems = async (pool: Pool, ids: readonly string[]): Promise<boolean[]> => {
  checkWhole('ids.length', ids.length, 1, MAX_ACK_IDS);
  const { wants, malformed } = groupItems(ids);
  if (malformed.length > 0) throw new InvalidItemError(malformed.map(malformedId));
  const rows = await store.readSegments(
    pool,
    wants.map(({ fanout }) => fanout),
    wants.map(({ segment }) => segment),
  );
  const found = new Map(rows.map((row) => [`${row.fanout}:${row.segment}`, row]));
  const problems: ItemProblem[] = [];
  const acked = ids.map((id) => {
    const { fanout, segment, index } = parseItemId(id)!;
    const row = found.get(`${fanout}:${segment}`);
    if (row !== undefined && index < row.size) return getBit(row.bits, index) === 0;
    const [code, message] = WORDS[row === undefined ? 'segment' : 'index'](
      { fanout, segment, indexes: [index] },
      row?.size ?? null,
    );
    problems.push({ id, code, message });
    return false;
  });
  if (problems.length > 0) throw new InvalidItemError(problems);
  return acked;
};
