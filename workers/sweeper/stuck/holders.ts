import type { Client } from '@temporalio/client';
import { QUERY_MS } from '../../../activities/nodes/heartbeat/heartbeat';
import { readLastSign } from '../../../postgres/nodes/node';
import type { Pool } from '../../../postgres/pool';
import type { Requests } from '../../../workflows/temporal/requests';
import { HEARTBEAT_MS } from '../../registry';
import type { DescribedTask } from '../../temporal/openRun';
import type { StoreContact } from '../lease/storeContact';

interface Held {
  workflowId: string;
  runId: string;
  task: DescribedTask;
}

/**
 * Age of the last sign of life of a node that is gone: one heartbeat has hung until it was given
 * up, and the next one is missing. A node that was stopped for so long loses the runs whose
 * workflow tasks it has.
 */
const SILENT_MS = HEARTBEAT_MS + QUERY_MS + 2_000;
/**
 * Time in which a living node gives a sign, if it can reach the store; a little less than two
 * rounds of looks, or the verdict would wait for a third.
 */
const UNCHANGED_MS = HEARTBEAT_MS + 800;
/**
 * Time for which the store must have answered: it may have been away before, and nodes connect
 * again in their own time.
 */
const SINCE_OUTAGE_MS = 10_000;
/** A sign that was not asked for during this time is forgotten. */
const FORGET_MS = 60_000;

interface Sign {
  seenAtMs: number;
  /** When the first read of it was answered, and the last. */
  since: number;
  at: number;
}

/**
 * Knows which workers are gone that have the workflow tasks or activities of silent runs, by their
 * signs of life.
 */
export class Holders {
  private readonly signs = new Map<string, Sign>();
  private readonly holders = new Map<string, { startedAt: number; identity: string | null }>();
  /** What was read in this round: many runs have the same holder. */
  private asked = new Map<string, Promise<boolean | null>>();

  /** `node`: this process, which is not gone, whatever keeps its signs from the store. */
  constructor(private readonly options: { pool: Pool; requests: Requests; node: string; contact: StoreContact }) {}

  /** Begins a round of looks at these workflows, and forgets others. */
  begin(workflowIds: ReadonlySet<string>): void {
    const now = performance.now();
    this.asked = new Map();
    for (const id of this.holders.keys()) if (!workflowIds.has(id)) this.holders.delete(id);
    for (const [node, { at }] of this.signs) if (now - at > FORGET_MS) this.signs.delete(node);
  }

  /**
   * Says whether the worker is gone, or stopped, that has the first attempt of this workflow task;
   * null: it is not known. To be asked again every second or two. Never rejects: other reasons for
   * which a run is stuck are judged without it.
   */
  async isGone(held: Held): Promise<boolean | null> {
    const { isStarted, attempt, startedAt } = held.task;
    if (!isStarted || attempt !== 1 || startedAt === null) return null;
    const identity = await this.holderOf(held, startedAt).catch(() => null);
    return identity === null ? null : this.isNodeGone(identity);
  }

  /**
   * Says whether all of these workers are gone, or stopped; null: it is not known of one. Never
   * rejects.
   */
  async areGone(identities: readonly string[]): Promise<boolean | null> {
    const gone = await Promise.all(identities.map((identity) => this.isNodeGone(identity)));
    return gone.includes(null) ? null : !gone.includes(false);
  }

  private isNodeGone(identity: string): Promise<boolean | null> {
    if (identity === this.options.node) return Promise.resolve(false);
    const asked = this.asked.get(identity) ?? this.isSilent(identity).catch(() => null);
    this.asked.set(identity, asked);
    return asked;
  }

  private async holderOf({ workflowId, runId }: Held, startedAt: number): Promise<string | null> {
    const known = this.holders.get(workflowId);
    if (known?.startedAt === startedAt) return known.identity;
    const identity = await askForHolder(this.options.requests.temporal, { workflowId, runId });
    this.holders.set(workflowId, { startedAt, identity });
    return identity;
  }

  /** Compares a node's sign with the last one that was read; null: there is no such node. */
  private async isSilent(node: string): Promise<boolean | null> {
    const { pool, contact } = this.options;
    const askedAt = performance.now();
    const sign = await readLastSign(pool, node);
    contact.answered();
    if (sign === null) return null;
    const { seenAtMs, agoMs } = sign;
    const at = performance.now();
    const before = this.signs.get(node);
    const goesOn = before?.seenAtMs === seenAtMs && contact.since <= before.since;
    const since = goesOn ? before.since : at;
    this.signs.set(node, { seenAtMs, since, at });
    const isStoreThere = askedAt - contact.since >= SINCE_OUTAGE_MS;
    return isStoreThere && agoMs >= SILENT_MS && askedAt - since >= UNCHANGED_MS;
  }
}

/** That a worker has taken the task is the newest event: the server keeps signals back. */
const PAGE = 2;

/** Returns the identity of the worker that has a run's workflow task; null: not told. */
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
