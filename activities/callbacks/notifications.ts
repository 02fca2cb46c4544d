import type { MemberEnd } from '../../workflows/planning/calls/plans';
import type { TaskEnd, TasksEnded } from '../../workflows/definitions';
import type { NewNotification } from '../../postgres/calls/records';
import type { Call } from '../calls/call';

/** Returns the notifications of a batch whose members all succeeded. */
export const successNotifications = (call: Call): NewNotification[] =>
  call.members.every(({ recipientId }) => recipientId === null)
    ? []
    : notificationsOf(call, [...call.members.keys()], [], 'succeeded', null);

/** Returns one message per batch and recipient, about those members that ended in this call. */
export const notificationsOf = (
  call: Call,
  rest: readonly number[],
  ends: readonly MemberEnd[],
  state: 'succeeded' | 'failed' | 'unknown',
  error: string | null,
): NewNotification[] => {
  const byRecipient = new Map<number, TaskEnd[]>();
  const add = (index: number, end: Omit<TaskEnd, 'id'>): void => {
    const member = call.members[index]!;
    if (member.recipientId === null) return;
    const tasks = byRecipient.get(member.recipientId) ?? [];
    tasks.push({ id: member.id, ...end });
    byRecipient.set(member.recipientId, tasks);
  };
  for (const index of rest) add(index, error === null ? { state } : { state, error });
  for (const end of ends) if (end.to !== 'retry') add(end.index, { state: end.to, error: end.error });
  return [...byRecipient].map(([recipient_id, tasks]) => ({
    batch_id: call.batch.id,
    attempt: call.attempt,
    recipient_id,
    body: { handler: call.handler.name, target: call.batch.target, batch: call.batch.id, tasks } satisfies TasksEnded,
  }));
};
