import type { OverdueWork } from '../../postgres/sweeper/overdueWork';
import { readOverdueWork } from '../../postgres/sweeper/overdueWork';
import type { StalledRead } from '../../postgres/sweeper/stalledReads';
import { readStalledReads } from '../../postgres/sweeper/stalledReads';
import type { Queryable } from '../../postgres/pool';
import type { Unanswered } from '../../postgres/sweeper/unanswered';
import { readUnanswered } from '../../postgres/sweeper/unanswered';
import type { Stalled } from '../../workflows/contracts/handler';
import {
  balancerWorkflowId,
  executionWorkflowId,
  leaderWorkflowId,
  monitorWorkflowId,
  notifierWorkflowId,
  queuerWorkflowId,
} from '../../workflows/naming';
import { UNANSWERED_MS } from '../../workflows/planning/liveness';

/** Names a leader or queuer that has not answered its wake, and the run of its last turn. */
export const stalledOf = (prefix: string, { kind, id, handler, name, ms, runId }: Unanswered): Stalled => ({
  kind,
  name: name ?? String(id),
  ms: Math.round(ms),
  workflowId: kind === 'leader' ? leaderWorkflowId(prefix, handler!, name!, id) : queuerWorkflowId(prefix, id),
  runId,
});

/** Names a workflow whose work is overdue, and its run. */
const overdueOf = (prefix: string, { kind, name, ms, runId, handlers, givenBy }: OverdueWork): Stalled => {
  const ids = {
    monitor: () => monitorWorkflowId(prefix, name),
    notifier: () => notifierWorkflowId(prefix),
    balancer: () => balancerWorkflowId(prefix),
    execution: () => executionWorkflowId(prefix, name),
    dispatch: () =>
      givenBy!.leader === null
        ? queuerWorkflowId(prefix, givenBy!.id)
        : leaderWorkflowId(prefix, handlers[0]!, givenBy!.leader, givenBy!.id),
  };
  return { kind, name: name === '' ? kind : name, ms: Math.round(ms), workflowId: ids[kind](), runId };
};

/** Names a batch whose results do not come, and the monitor that reads them. */
const readOf = (prefix: string, { handler, batch, ms }: StalledRead): Stalled => ({
  kind: 'read',
  name: String(batch),
  ms: Math.round(ms),
  workflowId: monitorWorkflowId(prefix, handler),
  runId: null,
});

/** Most stalled workflows that are named, the oldest first. */
const MOST_STALLED = 100;

/** Reads what has stalled. `of` returns what concerns one handler. */
export const readStalled = async (
  db: Queryable,
  prefix: string,
): Promise<{ of(handler: { name: string; hasLanes: boolean }): Stalled[] }> => {
  const unanswered = await readUnanswered(db, UNANSWERED_MS, MOST_STALLED);
  const overdue = await readOverdueWork(db, MOST_STALLED);
  const reads = await readStalledReads(db, MOST_STALLED);
  return {
    of: ({ name, hasLanes }) => [
      ...unanswered
        .filter((one) => one.handler === name || (one.kind === 'queuer' && hasLanes))
        .map((one) => stalledOf(prefix, one)),
      ...overdue.filter((one) => concerns(one, name)).map((one) => overdueOf(prefix, one)),
      ...reads.filter(({ handler }) => handler === name).map((one) => readOf(prefix, one)),
    ],
  };
};

/**
 * Says whether overdue work concerns a handler. The notifier serves all handlers, and executions
 * belong to none: these are reported with every handler.
 */
const concerns = ({ kind, name, handlers }: OverdueWork, handler: string): boolean => {
  if (kind === 'monitor') return name === handler;
  return kind === 'balancer' || kind === 'dispatch' ? handlers.includes(handler) : true;
};
