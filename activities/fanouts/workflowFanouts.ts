import { ApplicationFailure, Context } from '@temporalio/activity';
import { isUniqueViolation } from '../../postgres/errors';
import * as store from '../../postgres/fanouts/fanout';
import { registerRecipient } from '../../postgres/callbacks/recipient';
import type { FanoutEnded } from '../../workflows/definitions';
import { isFanoutId, MAX_SEGMENT_SIZE } from '../../workflows/planning/fanouts/itemId';
import type { SegmentRange } from '../../workflows/planning/fanouts/segments';
import {
  DEFAULT_SEGMENT_SIZE,
  joinRanges,
  MAX_ITEMS,
  splitAdd,
  MAX_USER_KEY_BYTES,
} from '../../workflows/planning/fanouts/segments';
import { FANOUT_STATES, fanoutStateName } from '../../workflows/planning/fanouts/states';
import { wakeNotifier } from '../../workflows/wake';
import { awaitBriefly } from '../grouping/ring';
import type { ActivityDeps } from '../deps';
import { show } from '../../handlers/text';

/**
 * The activities of `temporal-muster/workflow` for fan-outs in a user's own workflow. All of them
 * may be repeated: a retried activity changes nothing more.
 */

/** Larger than a client's: a single caller, in its activity. */
const ITEMS_PER_STATEMENT = 100_000;

export interface OpenInput {
  id: string;
  userKey?: string;
  segmentSize?: number;
}

export const createFanoutActivities = (deps: ActivityDeps) => ({
  openFanout: (input: OpenInput): Promise<void> => openFanout(deps, input),
  addFanoutItems: (input: { id: string; items: number; key: string }): Promise<SegmentRange[]> => addItems(deps, input),
  sealFanout: ({ id }: { id: string }): Promise<{ state: 'sealed' | 'complete' }> => sealFanout(deps, id),
  readFanoutEnd: ({ id }: { id: string }): Promise<FanoutEnded | null> => readEnd(deps, id),
});

const refused = (type: string, message: string): ApplicationFailure =>
  ApplicationFailure.create({ type, message, nonRetryable: true });
const invalid = (field: string, expected: string, got: unknown): ApplicationFailure =>
  refused('MusterInvalidFanout', `${field}: expected ${expected}, got ${show(got)}`);
const unknown = (id: string): ApplicationFailure =>
  refused(
    'MusterUnknownFanout',
    `fan-out ${id} not found: it was never opened, or was deleted after its retention period`,
  );
const checkWhole = (field: string, value: unknown, max: number): void => {
  if (!Number.isSafeInteger(value) || (value as number) < 1 || (value as number) > max)
    throw invalid(field, `a whole number from 1 to ${max}`, value);
};

/** Opens a fan-out whose end is reported to the calling workflow: to its id, not to its run. */
const openFanout = async (deps: ActivityDeps, input: OpenInput): Promise<void> => {
  const { id, userKey = null, segmentSize = DEFAULT_SEGMENT_SIZE } = input;
  if (!isFanoutId(id)) throw invalid('id', 'a UUID in lower case', id);
  const isText =
    userKey === null ||
    (typeof userKey === 'string' && userKey !== '' && !userKey.includes('\0') && userKey.isWellFormed());
  if (!isText || Buffer.byteLength(userKey ?? '') > MAX_USER_KEY_BYTES)
    throw invalid('userKey', `1-${MAX_USER_KEY_BYTES} bytes of text`, userKey);
  checkWhole('segmentSize', segmentSize, MAX_SEGMENT_SIZE);
  const { workflowId } = Context.current().info.workflowExecution!;
  const recipientId = await registerRecipient(deps.pool, 'workflow', { workflowId });
  await store.insertFanout(deps.pool, { id, userKey, segmentSize, recipientId, tenant: null });
};

const addItems = async (
  deps: ActivityDeps,
  { id, items, key }: { id: string; items: number; key: string },
): Promise<SegmentRange[]> => {
  checkWhole('items', items, MAX_ITEMS);
  const opening = await store.findFanoutOpening(deps.pool, id);
  if (opening === null || opening.isDeleted) throw unknown(id);
  const ranges: SegmentRange[] = [];
  let part = 0;
  for (const size of splitAdd(items, opening.segmentSize, ITEMS_PER_STATEMENT))
    joinRanges(ranges, await addOnce(deps, id, size, `${key}/${part++}`));
  return ranges;
};

const addOnce = async ({ pool }: ActivityDeps, id: string, items: number, key: string): Promise<SegmentRange> => {
  const added = await store.insertSegments(pool, id, items, key).catch((error: unknown) => {
    if (isUniqueViolation(error)) return null; // by the attempt before
    throw error;
  });
  if (added !== null) return { ...added, items };
  const before = await store.findAdd(pool, id, key);
  if (before !== null) return before;
  const row = await store.readFanout(pool, id);
  if (row === null) throw unknown(id);
  if (row.state === FANOUT_STATES.expired) throw refused('MusterFanoutExpired', `fan-out ${id} has expired`);
  throw refused(
    'MusterFanoutSealed',
    `fan-out ${id} is ${fanoutStateName(row.state)}: nothing can be added after the seal`,
  );
};

const sealFanout = async (deps: ActivityDeps, id: string): Promise<{ state: 'sealed' | 'complete' }> => {
  const sealed = await store.sealFanout(deps.pool, id);
  if (sealed !== null) {
    if (sealed.completed?.told === true)
      await awaitBriefly(deps, wakeNotifier(deps.requests, deps.prefix), 'the notifier was not woken');
    return { state: sealed.completed === null ? 'sealed' : 'complete' };
  }
  const row = await store.readFanout(deps.pool, id);
  if (row === null) throw unknown(id);
  const state = fanoutStateName(row.state);
  if (state === 'sealed' || state === 'complete') return { state };
  throw refused('MusterFanoutExpired', `fan-out ${id} was idle for too long and has expired`);
};

/** Returns its end, as the message would carry it; null: it goes on. */
const readEnd = async (deps: ActivityDeps, id: string): Promise<FanoutEnded | null> => {
  const row = await store.readFanout(deps.pool, id);
  if (row === null) throw unknown(id);
  const endedAt = row.completedAt ?? row.expiredAt;
  if (endedAt === null) return null;
  const type = row.completedAt === null ? 'fanout.expired' : 'fanout.completed';
  return { type, fanout: id, userKey: row.userKey, items: row.items, endedAt: endedAt.toISOString() };
};
