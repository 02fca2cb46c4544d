import type { EndedTasks } from '../../handlers/hooks/types';
import { insertNotifications } from '../../postgres/calls/records';
import type { SupersededTask } from '../../postgres/grouping/superseded';
import { endSuperseded } from '../../postgres/grouping/superseded';
import type { HeadTask } from '../../postgres/grouping/queueHead';
import type { Client } from '../../postgres/pool';
import type { Superseded } from '../../workflows/planning/calls/plans';
import { wakeNotifier } from '../../workflows/wake';
import { notificationsOfEnds } from '../callbacks/notificationsOfEnds';
import type { ActivityDeps } from '../deps';
import { releaseDependents } from './dependents';
import { awaitBriefly } from './ring';

/** Most tasks per message to a recipient. */
const TASKS_PER_MESSAGE = 1_000;

/**
 * Ends the tasks of a claim that are not sent (`coalesceBy`), and notes what their recipients are
 * told, in the transaction that has formed the batches of those that go for them.
 */
export const endUnsent = async (
  client: Client,
  handler: string,
  superseded: readonly Superseded[],
  tasks: ReadonlyMap<number, HeadTask>,
): Promise<SupersededTask[]> => {
  const ended = await endSuperseded(
    client,
    superseded.map(({ seq, by }) => ({ place: tasks.get(seq)!.place, seq, by })),
  );
  const told = ended.filter(({ recipientId }) => recipientId !== null);
  for (let from = 0; from < told.length; from += TASKS_PER_MESSAGE) {
    const ends = told.slice(from, from + TASKS_PER_MESSAGE).map((end) => ({ ...end, handler, batchId: null }));
    await insertNotifications(client, notificationsOfEnds(ends, { state: 'cancelled' }));
  }
  return ended;
};

/**
 * Does what follows the commit of such ends: counts them, tells hooks, wakes the notifier and
 * releases what depended on them. The sweeper repeats the last two.
 */
export const tellUnsent = async (
  deps: ActivityDeps,
  handler: string,
  ended: readonly SupersededTask[],
): Promise<void> => {
  if (ended.length === 0) return;
  deps.outcomes?.superseded(handler, ended.length);
  if (deps.hooks?.observesEnds === true) deps.hooks.ended(eventsOf(handler, ended));
  if (ended.some(({ recipientId }) => recipientId !== null))
    await awaitBriefly(deps, wakeNotifier(deps.requests, deps.prefix), 'the notifier was not woken');
  await releaseDependents(deps);
};

/** Returns what hooks are told, by the batches of those that go for them; none was called yet. */
const eventsOf = (handler: string, ended: readonly SupersededTask[]): EndedTasks[] => {
  const events = new Map<number, EndedTasks & { tasks: EndedTasks['tasks'][number][] }>();
  for (const { id, target, error, batchId } of ended) {
    let event = events.get(batchId);
    if (event === undefined)
      events.set(batchId, (event = { handler, target, batch: String(batchId), attempt: 0, tasks: [] }));
    event.tasks.push({ id, state: 'cancelled', error });
  }
  return [...events.values()];
};
