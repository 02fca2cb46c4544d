import { wake } from '../../activities/grouping/ring';
import type { RingLog } from '../../activities/grouping/ring';
import type { Pool } from '../../postgres/pool';
import type { WokenLeader } from '../../postgres/grouping/ring';
import { executionTurns, lastRound } from '../../postgres/sweeper/silent';
import { readHolding, readUnanswered } from '../../postgres/sweeper/unanswered';
import type { Holding } from '../../postgres/sweeper/unanswered';
import {
  balancerWorkflowId,
  executionWorkflowId,
  leaderWorkflowId,
  monitorWorkflowId,
  notifierWorkflowId,
  queuerWorkflowId,
} from '../../workflows/naming';
import type { Requests } from '../../workflows/temporal/requests';
import { wakeBalancer, wakeExecutions, wakeMonitor, wakeNotifier, wakeQueuerWorkflows } from '../../workflows/wake';
import type { SilentRun } from './stuckRuns';

interface Deps {
  pool: Pool;
  requests: Requests;
  prefix: string;
  log: RingLog;
}
/** Everything about a silent run except how long it has been silent. */
type Who = Omit<SilentRun, 'silentMs'>;

/** Shorter silences are ignored. */
const SILENT_MS = 2_000;
/** Most runs of each handler, and of the queuers. */
const MOST = 200;

interface Overdue extends Who {
  since: number;
  /** The store's record of its last sign of life; when it changes, the silence begins anew. */
  mark: string | null;
}

/**
 * The workflows that owe a sign of life, one kind beside the other. For leaders and queuers the
 * store keeps since when. For the others it says that work is overdue, and this process remembers
 * since when. A test goes through the list of workflow types: each must be handled here.
 */
export class SilentRuns {
  private readonly overdue = new Map<string, Overdue>();

  constructor(private readonly deps: Deps) {}

  /**
   * Takes what the sweeper found in this round; a workflow of its kind that is not named any more
   * has moved on.
   */
  noteNotifier(isOverdue: boolean): void {
    const { requests, prefix } = this.deps;
    this.note(
      'notifier',
      isOverdue
        ? [
            {
              ...who('notifier', notifierWorkflowId(prefix)),
              takesTurns: false,
              wake: () => wakeNotifier(requests, prefix),
            },
          ]
        : [],
    );
  }

  noteMonitors(handlers: readonly string[]): void {
    const { requests, prefix } = this.deps;
    this.note(
      'monitor',
      handlers.map((handler) => ({
        ...who('monitor', monitorWorkflowId(prefix, handler)),
        takesTurns: false,
        wake: () => wakeMonitor(requests, prefix, handler),
      })),
    );
  }

  async noteBalancer(isOverdue: boolean): Promise<void> {
    const { pool, requests, prefix } = this.deps;
    const mark = isOverdue ? await lastRound(pool) : null;
    const one = { ...who('balancer', balancerWorkflowId(prefix)), mark, wake: () => wakeBalancer(requests, prefix) };
    this.note('balancer', isOverdue ? [one] : []);
  }

  /**
   * `due`: found in this round, whose runs wait `delayMs` before their first turn. An execution
   * stays until it took a turn: the store gives each that was found a while.
   */
  async noteExecutions(due: readonly string[], delayMs = 0): Promise<void> {
    const { pool, requests, prefix } = this.deps;
    const known = [...this.overdue.values()]
      .filter(({ type }) => type === 'execution')
      .map(({ workflowId }) => workflowId.slice(executionWorkflowId(prefix, '').length));
    const ids = [...new Set([...known, ...due])].slice(0, MOST);
    const turns = ids.length === 0 ? [] : await executionTurns(pool, ids);
    const stay = turns.filter(({ id, turn }) => {
      const before = this.overdue.get(executionWorkflowId(prefix, id));
      return due.includes(id) || before?.mark === turn;
    });
    this.note(
      'execution',
      stay.map(({ id, turn }) => ({
        ...who('execution', executionWorkflowId(prefix, id)),
        mark: turn,
        wake: () => wakeExecutions(requests, prefix, [id]),
      })),
      delayMs,
    );
  }

  /** Forgets since when work is overdue: another process sweeps now, and sees it move on. */
  forget(): void {
    this.overdue.clear();
  }

  async list(): Promise<SilentRun[]> {
    const now = performance.now();
    const unanswered = await readUnanswered(this.deps.pool, SILENT_MS, MOST);
    const silent = [
      ...unanswered.map((one) => ({ ...this.runOf(one), silentMs: one.ms })),
      ...[...this.overdue.values()]
        .map((one) => ({ ...one, silentMs: now - one.since }))
        .filter(({ silentMs }) => silentMs >= SILENT_MS),
    ];
    const known = new Set(silent.map(({ workflowId }) => workflowId));
    const holding = (await readHolding(this.deps.pool, MOST)).map((one) => ({ ...this.runOf(one), silentMs: 0 }));
    return [...silent, ...holding.filter(({ workflowId }) => !known.has(workflowId))];
  }

  private runOf({ kind, id, handler, name, installation }: Holding): Who {
    const { requests, prefix } = this.deps;
    if (kind === 'leader')
      return leaderRun(this.deps, { leaderId: id, handler: handler!, name: name!, installation, dueInMs: 0 });
    if (kind === 'execution')
      return {
        ...who('execution', executionWorkflowId(prefix, name!)),
        wake: () => wakeExecutions(requests, prefix, [name!]),
      };
    const wakeIt = (): Promise<unknown> => wakeQueuerWorkflows(requests, prefix, [{ queuerId: id }]);
    return { ...who('queuer', queuerWorkflowId(prefix, id)), wake: wakeIt };
  }

  private note(type: string, found: readonly (Who & { mark?: string | null })[], graceMs = 0): void {
    for (const [id, one] of this.overdue)
      if (one.type === type && !found.some(({ workflowId }) => workflowId === id)) this.overdue.delete(id);
    for (const one of found) {
      const mark = one.mark ?? null;
      const before = this.overdue.get(one.workflowId);
      const since = before?.mark === mark ? before.since : performance.now() + graceMs;
      this.overdue.set(one.workflowId, { ...one, mark, since });
    }
  }
}

const who = (type: string, workflowId: string): Omit<Who, 'wake'> => ({ type, workflowId, takesTurns: true });

/** Describes the run of a leader that was told to look. */
export const leaderRun = (deps: Deps, leader: WokenLeader): Who => ({
  ...who('leader', leaderWorkflowId(deps.prefix, leader.handler, leader.name, leader.leaderId)),
  wake: () => wake(deps, [{ ...leader, dueInMs: 0 }]),
});
