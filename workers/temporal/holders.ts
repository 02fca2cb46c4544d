import type { Client } from '@temporalio/client';
import type { LastSign } from '../../postgres/nodes/node';
import { readLastSign } from '../../postgres/nodes/node';
import type { Pool } from '../../postgres/pool';
import type { Requests } from '../../workflows/temporal/requests';
import type { DescribedTask } from './openRun';

interface Held {
  workflowId: string;
  runId: string;
  task: DescribedTask;
}

/** Nodes write a sign of life every 3 s: two are missing. */
const SILENT_MS = 7_000;
/**
 * Time in which a living node gives a sign, seen by this process: all signs are old after the store
 * was away.
 */
const UNCHANGED_MS = 3_500;
/** After a longer pause between two looks, in which it or the store was away, it counts anew. */
const LONGEST_PAUSE_MS = 5_000;

/** Events: the last ones of a run whose workflow task a worker has are that, and signals. */
const PAGE = 10;

interface Sign {
  seenAtMs: number;
  /** When this process saw it first, and last. */
  since: number;
  at: number;
}

/** Knows which workers that have the workflow tasks of silent runs are gone, by their signs of life. */
export class Holders {
  private readonly signs = new Map<string, Sign>();
  private readonly holders = new Map<string, { startedAt: number; identity: string | null }>();

  /** Signs that were read in this round: many runs have the same holder. */
  private asked = new Map<string, Promise<LastSign | null>>();

  constructor(private readonly options: { pool: Pool; requests: Requests }) {}

  /**
   * Says whether the worker is gone, or was stopped, that has the first attempt of this workflow
   * task; false: it is not known. To be asked again every second or two.
   */
  async isGone({ workflowId, runId, task }: Held, now: number): Promise<boolean> {
    const { isStarted, attempt, startedAt } = task;
    if (!isStarted || attempt !== 1 || startedAt === null) return false;
    const known = this.holders.get(workflowId);
    const isSame = known?.startedAt === startedAt;
    const identity = isSame
      ? known.identity
      : await askForHolder(this.options.requests.temporal, { workflowId, runId });
    this.holders.set(workflowId, { startedAt, identity });
    const sign = identity === null ? null : await this.lastSign(identity);
    if (sign === null) return false;
    const { since } = this.note(identity!, sign.seenAtMs, now);
    return sign.agoMs >= SILENT_MS && now - since >= UNCHANGED_MS;
  }

  /** Begins a round of looks at these workflows, and forgets others. */
  begin(workflowIds: ReadonlySet<string>, now: number): void {
    this.asked = new Map();
    for (const id of this.holders.keys()) if (!workflowIds.has(id)) this.holders.delete(id);
    for (const [node, { at }] of this.signs) if (now - at > LONGEST_PAUSE_MS) this.signs.delete(node);
  }

  private lastSign(node: string): Promise<LastSign | null> {
    const asked = this.asked.get(node) ?? readLastSign(this.options.pool, node);
    this.asked.set(node, asked);
    return asked;
  }

  private note(node: string, seenAtMs: number, now: number): Sign {
    const before = this.signs.get(node);
    const goesOn = before?.seenAtMs === seenAtMs && now - before.at <= LONGEST_PAUSE_MS;
    const sign = { seenAtMs, since: goesOn ? before.since : now, at: now };
    this.signs.set(node, sign);
    return sign;
  }
}

/**
 * Returns the identity of the worker that has the pending workflow task of a run; null: it is not
 * among the newest events of its history.
 */
const askForHolder = async (
  { workflowService, options: { namespace } }: Client,
  execution: { workflowId: string; runId: string },
): Promise<string | null> => {
  const { history } = await workflowService.getWorkflowExecutionHistoryReverse({
    ...{ namespace, execution, maximumPageSize: PAGE },
  });
  for (const { workflowTaskStartedEventAttributes: started } of history?.events ?? [])
    if (started != null) return started.identity ?? null;
  return null;
};
