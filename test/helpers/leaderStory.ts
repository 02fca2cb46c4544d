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
  const temporal = await muster.client.temporal();
  const run = temporal.workflow.getHandle(leaderWorkflowId(muster.prefix, handler, name, row.id));
  const events = await run.fetchHistory().then(
    (history) => history.events ?? [],
    (error: unknown) => String(error),
  );
  if (typeof events === 'string') return `${JSON.stringify(row)}\n${events}`;
  const lines = events.map((event) => {
    const { eventId, eventType, eventTime, timerStartedEventAttributes: timer } = event;
    const wait = timer?.startToFireTimeout;
    const more = wait == null ? '' : ` ${Number(wait.seconds ?? 0) * 1_000 + (wait.nanos ?? 0) / 1e6} ms`;
    const signal = event.workflowExecutionSignaledEventAttributes?.signalName ?? '';
    const activity = event.activityTaskScheduledEventAttributes?.activityType?.name ?? '';
    const at = new Date(Number(eventTime?.seconds ?? 0) * 1_000 + (eventTime?.nanos ?? 0) / 1e6).toISOString();
    return `${Number(eventId)} ${at} ${eventType}${more} ${signal}${activity}`.trim();
  });
  const shown = lines.length <= 100 ? lines : [...lines.slice(0, 50), '...', ...lines.slice(-50)];
  return [JSON.stringify(row), ...shown].join('\n');
};
