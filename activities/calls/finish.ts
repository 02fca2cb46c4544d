import { FLUSH_REASONS, BATCH_STATES, TASK_STATES } from '../../workflows/planning/states';
import type { MemberEnd } from '../../workflows/planning/calls/plans';
import type { MemberTask } from '../../postgres/calls/members';
import type { Client } from '../../postgres/pool';
import { insertNotifications } from '../../postgres/calls/records';
import * as settle from '../../postgres/calls/settle';
import { freeKeys } from '../../postgres/grouping/busyKey';
import { endsOf } from '../hooks/workerHooks';
import { notificationsOf } from '../callbacks/notifications';
import type { Call } from './call';
import type { Decision, Part } from './door';

export const OUTCOME_CHUNK = 1_000;

/**
 * Writes the ends of a batch's members, separate or shared, and the end of the batch. Returns
 * whether there are notifications to deliver.
 */
export const finish = async (
  client: Client,
  call: Call,
  settlement: Extract<Decision, { kind: 'finish' }>,
  parts: Part[],
): Promise<boolean> => {
  const { batch, members } = call;
  const seqOf = (end: MemberEnd): number => members[end.index]!.seq;
  const attemptsOf = (end: MemberEnd): number => members[end.index]!.attempts + 1;
  const ended = settlement.ends.filter((end) => end.to === 'failed' || end.to === 'dead' || end.to === 'cancelled');
  const back = settlement.ends.filter((end) => end.to === 'retry');
  const unknown = settlement.ends.filter((end) => end.to === 'unknown');
  for (let i = 0; i < ended.length; i += OUTCOME_CHUNK)
    await settle.insertOutcomes(
      client,
      batch.id,
      ended.slice(i, i + OUTCOME_CHUNK).map((end) => ({
        seq: seqOf(end),
        state: TASK_STATES[end.to as 'failed'],
        attempts: attemptsOf(end),
        error: end.error,
      })),
    );
  if (back.length > 0) parts.push(...(await call.home.retry(client, call, back)));
  const parked = (end: MemberEnd): boolean =>
    end.to === 'unknown' && (settlement.unknown === 'park' || end.parked === true);
  const children: [MemberEnd[], number][] = [
    [unknown.filter(parked), BATCH_STATES.unknown],
    [unknown.filter((end) => !parked(end)), BATCH_STATES.open],
  ];
  for (const [some, state] of children)
    if (some.length > 0) {
      const inMs = state === BATCH_STATES.open ? settlement.unknownInMs : undefined;
      const { error } = some[0]!;
      const unconcluded = settlement.unknown === 'reconcile';
      const child = {
        members: some.map(seqOf),
        state,
        reason: FLUSH_REASONS.split,
        unconcluded,
        depth: 0,
        error,
        inMs,
      };
      const batchId = await settle.insertChild(client, batch.id, child);
      parts.push({ batchId, as: state === BATCH_STATES.open ? 'unknown' : 'parked', inMs: inMs ?? null, error });
    }
  // Keys of members that share the batch's end; those of other members went with their outcome,
  // stay (retry), or stay with the child.
  if (call.handler.distinctBy !== undefined) await freeKeys(client, [batch.id]);
  const left = settlement.ends.length;
  await settle.finishBatch(client, batch.id, BATCH_STATES[settlement.state], true, left, settlement.error ?? null);
  // Unknown members that are sent again or looked up have not ended yet.
  const notified = settlement.ends.filter((end) => end.to !== 'unknown' || parked(end));
  const rest = shared(members, settlement.ends);
  return settlement.state === 'failed'
    ? notify(client, call, rest, notified, 'failed', settlement.error ?? null)
    : notify(client, call, rest, notified, 'succeeded', null);
};

const shared = (members: readonly MemberTask[], ends: readonly MemberEnd[]): number[] => {
  const own = new Set(ends.map((end) => end.index));
  return members.map((_, index) => index).filter((index) => !own.has(index));
};

export const notify = async (
  client: Client,
  call: Call,
  rest: readonly number[],
  ends: readonly MemberEnd[],
  state: 'succeeded' | 'failed' | 'unknown',
  error: string | null,
): Promise<boolean> => {
  call.ended?.push(endsOf(call, rest, ends, state, error));
  call.tally?.add(call.members, rest, ends, state, error);
  const notifications = notificationsOf(call, rest, ends, state, error);
  if (notifications.length > 0) await insertNotifications(client, notifications);
  return notifications.length > 0;
};
