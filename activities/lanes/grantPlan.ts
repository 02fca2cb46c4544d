import * as store from '../../postgres/lanes/grant';
import { failDependents } from '../../postgres/lanes/settle';
import type { Client } from '../../postgres/pool';
import type { FailedUnsent } from '../outcomes/told';
import { failedBatches } from '../outcomes/unsent';
import { writePaces } from '../../postgres/lanes/tokens';
import type { DependencyFailure, Grant } from '../../workflows/planning/lanes/types';
import type { Look } from './look';

/**
 * Writes what the plan changes besides the grants themselves. `grants`: those of the plan that are
 * made. Returns what failed unsent, to be told once it is committed.
 */
export const writePlan = async (
  client: Client,
  queuerId: number,
  look: Look,
  grants: readonly Grant[],
): Promise<FailedUnsent[]> => {
  const { plan, lanes } = look;
  const granted = new Map<number, number>();
  for (const { laneId } of grants) granted.set(laneId, (granted.get(laneId) ?? 0) + 1);
  if (plan.lanes.length > 0)
    await store.updateLanes(
      client,
      plan.lanes.map((lane) => ({
        lane_id: lane.laneId,
        deficit: lane.deficit,
        served: lane.served,
        pending: lane.pending,
        saturated: lane.saturated,
        ready: lane.ready,
        due_in_ms: lane.dueInMs,
        granted: granted.get(lane.laneId) ?? 0,
        blocked_by: lane.heldBy,
        unserved_by: lane.unservedBy.length === 0 ? null : lane.unservedBy,
        halted_by: lane.haltedBy,
        halt_reason:
          lane.haltedBy === null || lanes.get(lane.laneId)?.haltedBy != null
            ? null
            : haltOf(plan.failures, lane.haltedBy),
      })),
    );
  // After the lanes: their dependents are marked ready now.
  const failed = await failAll(client, plan.failures);
  // Consumes rates only for what is granted here, not for batches that another process will send.
  const granting = (kind: 'handlerId' | 'targetId'): Set<number> =>
    new Set(grants.map(({ batchId }) => look.batches.get(batchId)![kind]));
  await writePaces(client, 'handler', only(plan.paced.handlers, granting('handlerId')));
  await writePaces(client, 'target', only(plan.paced.targets, granting('targetId')));
  if (grants.length > 0) await store.updateRound(client, queuerId, plan.round, grants.length);
  return failed;
};

const only = <T>(all: ReadonlyMap<number, T>, ids: ReadonlySet<number>): Map<number, T> =>
  all.size === 0 ? new Map<number, T>() : new Map([...all].filter(([id]) => ids.has(id)));

const haltOf = (failures: readonly DependencyFailure[], batchId: number): string => {
  const on = failures.find((failure) => failure.batchId === batchId)?.on;
  // Parked while another batch halted the lane: now it halts the lane.
  if (on === undefined) return `unknown: batch ${batchId} may have been applied; \`lane fix\` or \`lane skip\` it`;
  return `batch ${batchId} was not sent: batch ${on}, on which it depends, was not applied`;
};

const failAll = async (client: Client, failures: readonly DependencyFailure[]): Promise<FailedUnsent[]> => {
  const failed: { handler: string; batch: number; tasks: number }[] = [];
  for (const { batchId: batch, on } of failures) {
    const unsent = await failDependents(client, batch, on);
    if (unsent !== null) failed.push({ ...unsent, batch });
  }
  return failedBatches(failed);
};
