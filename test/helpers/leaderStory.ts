import type { temporal } from '@temporalio/proto';
import { leaderWorkflowId } from '../../workflows/naming';
import type { TestMuster } from './muster';

/**
 * For the message of a test that waited in vain: the leader's row and the events of its last run,
 * by what is true now.
 */
export const leaderStory = async (muster: TestMuster, handler: string, name: string): Promise<string> => {
  const { rows } = await muster.database.pool.query<{ id: number }>(
    `select l.*, clock() as now, (select json_agg(q) from queue q join target t on t.id = q.target_id where t.leader_id = l.id) as queue,
       (select json_agg(b) from batch b where b.leader_id = l.id and b.state in (1, 3)) as batches
     from leader l join handler h on h.id = l.handler_id where h.name = $1 and l.name = $2`,
    [handler, name],
  );
  const row = rows[0];
  if (row === undefined) return `no leader ${handler}/${name}`;
  const events = await eventsOf(muster, handler, { ...row, name }).catch(String);
  if (typeof events === 'string') return `${JSON.stringify(row)}\n${events}`;
  const lines = events.map((event) => {
    const { eventId, eventType, eventTime, timerStartedEventAttributes: timer } = event;
    const more = timer == null ? '' : ` ${msOf(timer.startToFireTimeout)} ms`;
    const signal = event.workflowExecutionSignaledEventAttributes?.signalName ?? '';
    const activity = event.activityTaskScheduledEventAttributes?.activityType?.name ?? '';
    const at = new Date(msOf(eventTime)).toISOString();
    return `${Number(eventId)} ${at} ${eventType}${more} ${signal}${activity}`.trim();
  });
  const shown = lines.length <= 100 ? lines : [...lines.slice(0, 50), '...', ...lines.slice(-50)];
  return [JSON.stringify(row), ...shown].join('\n');
};

type Event = temporal.api.history.v1.IHistoryEvent;

const eventsOf = async (
  muster: TestMuster,
  handler: string,
  leader: { id: number; name: string },
): Promise<Event[]> => {
  const { workflow } = await muster.client.temporal();
  const run = workflow.getHandle(leaderWorkflowId(muster.prefix, handler, leader.name, leader.id));
  return (await run.fetchHistory()).events ?? [];
};

const msOf = (time: Event['eventTime']): number => Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1e6;

/**
 * Returns by how much the server fired the timers of a handler's leaders too late, all together, by
 * its own account: the history has when each was started, for how long, and when it fired.
 */
export const lateTimersMs = async (muster: TestMuster, handler: string): Promise<number> => {
  const { rows } = await muster.database.pool.query<{ id: number; name: string }>(
    `select l.id, l.name from leader l join handler h on h.id = l.handler_id
     where h.name = $1 and l.run_started_at is not null`,
    [handler],
  );
  const histories = await Promise.all(rows.map((leader) => eventsOf(muster, handler, leader)));
  return histories.reduce((sum, events) => sum + lateMsOf(events), 0);
};

const lateMsOf = (events: readonly Event[]): number => {
  const dueAt = new Map<number, number>();
  let lateMs = 0;
  for (const event of events) {
    const { timerStartedEventAttributes: started, timerFiredEventAttributes: fired } = event;
    if (started != null) dueAt.set(Number(event.eventId), msOf(event.eventTime) + msOf(started.startToFireTimeout));
    if (fired != null) lateMs += msOf(event.eventTime) - dueAt.get(Number(fired.startedEventId))!;
  }
  return lateMs;
};
