import { readBatch, readBatchMembers } from '../../postgres/operations/batchView';
import { batchStateName, flushReasonName, taskStateName } from '../../workflows/planning/states';
import { checkWhole } from '../arguments';
import { cancellationView } from './cancellation';
import type { ClientContext } from '../context';
import type { BatchView } from '../views';

export const MEMBERS_MAX = 100_000;

export const batch = async (
  client: ClientContext,
  id: number,
  options: { members?: number } = {},
): Promise<BatchView | null> => {
  checkWhole('id', id, 1, Number.MAX_SAFE_INTEGER);
  const limit = checkWhole('members', options.members ?? 100, 0, MEMBERS_MAX);
  await client.ready();
  const row = await readBatch(client.pool, id);
  if (row === null) return null;
  const members = limit === 0 ? [] : await readBatchMembers(client.pool, id, limit);
  const iso = (time: Date | null): string | null => time?.toISOString() ?? null;
  const { cancellation } = row;
  return {
    ...row,
    state: batchStateName(row.state),
    reason: flushReasonName(row.reason),
    attemptUntil: iso(row.attemptUntil),
    retryAt: iso(row.retryAt),
    pollAt: iso(row.pollAt),
    pollUntil: iso(row.pollUntil),
    readAt: iso(row.readAt),
    cancellation: cancellation === null ? null : cancellationView(cancellation, row),
    createdAt: row.createdAt.toISOString(),
    startedAt: iso(row.startedAt),
    finishedAt: iso(row.finishedAt),
    members: members.map(({ id: taskId, state }) => ({ id: taskId, state: taskStateName(state) })),
  };
};
