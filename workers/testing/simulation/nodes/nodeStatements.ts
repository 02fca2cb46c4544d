import type { Statement } from '../statement';
import { NO_ROWS } from '../statement';

/** What the statements of a round of the balancer, and of checkpoints, do to a simulated store. */

const nothing: Statement = () => NO_ROWS;

const readPartitions: Statement = ({ nodes, nowMs }, _, { name, affinity }) =>
  [...nodes.leases.values()]
    .map(({ id, holder, epoch, acquiredAtMs, revokedAtMs, wantedBy }) => {
      const leftMs = nodes.leftMs(id, nowMs);
      return {
        ...{ id, handler: name, needs: affinity!.attributes, holder, epoch, leftMs, wantedBy },
        ...{ expired: leftMs <= 0, heldMs: nowMs - acquiredAtMs, keptFor: null, keptLeftMs: null, pinnedTo: null },
        revokedMs: revokedAtMs === null ? null : nowMs - revokedAtMs,
      };
    })
    .sort((a, b) => (a.id < b.id ? -1 : 1));

const readNodeFacts: Statement = ({ nodes, nowMs }, [withinMs], { name }) =>
  [...nodes.nodes.values()].map(({ id, attributes, drained, killedAtMs, startedMs }) => {
    const seenMs = killedAtMs === null ? 0 : nowMs - killedAtMs;
    const alive = seenMs < (withinMs as number);
    return { id, name: null, handlers: [name], attributes, drained, stopping: false, alive, seenMs, startedMs };
  });

const revokePartitions: Statement = ({ nodes, nowMs }, [ids, epochs, wanted]) =>
  (ids as string[]).flatMap((id, i) => {
    const lease = nodes.leases.get(id)!;
    if (lease.epoch !== (epochs as number[])[i] || lease.holder === null) return [];
    lease.revokedAtMs ??= nowMs;
    lease.wantedBy = (wanted as (string | null)[])[i]!;
    return [{ resource: id }];
  });

const assignPartitions: Statement = ({ nodes, nowMs }, [ids, epochs, holders, , leaseMs]) =>
  (ids as string[]).flatMap((id, i) => {
    const lease = nodes.leases.get(id)!;
    if (lease.epoch !== (epochs as number[])[i]) return [];
    const given = { holder: (holders as string[])[i], epoch: lease.epoch + 1, acquiredAtMs: nowMs };
    Object.assign(lease, given, { expiresAtMs: nowMs + (leaseMs as number), revokedAtMs: null, wantedBy: null });
    return [{ resource: id }];
  });

export const NODES: Readonly<Record<string, Statement>> = {
  'lock-assignor': () => [{ epoch: 1 }],
  'read-partitions': readPartitions,
  'read-node-facts': readNodeFacts,
  'revoke-partitions': revokePartitions,
  'assign-partitions': assignPartitions,
  'read-last-moves': nothing,
  // What is due is looked up at each instant: nothing sleeps that would have to be woken.
  'wake-served-leaders': nothing,
  'mark-served-lanes': ({ lanes }, [ids]) => {
    const given = new Set(ids as string[]);
    for (const lane of lanes.all)
      if (given.has(lane.partition ?? '') && (lane.dueAtMs !== null || lane.open.length > 0)) lane.ready = true;
    return NO_ROWS;
  },
  'served-handlers': ({ nodes }, _, { name }) =>
    nodes.isOff || [...nodes.nodes.values()].some(({ killedAtMs }) => killedAtMs === null)
      ? [{ handler: name }]
      : NO_ROWS,
  'lock-serving': ({ nodes, nowMs }, [ids]) =>
    (ids as string[]).map((id) => ({ id, node: nodes.servingOf(id, nowMs)?.node ?? null, epoch: 0 })),
  'write-checkpoint': ({ nodes, nowMs }, [id, node, epoch, value]) => {
    const serving = nodes.servingOf(id as string, nowMs);
    if (serving === null || serving.node !== node || serving.epoch !== epoch) return NO_ROWS;
    nodes.leases.get(id as string)!.checkpoint = { value: value as string, atMs: nowMs, epoch: serving.epoch };
    return [{ at: new Date(nowMs) }];
  },
  'read-checkpoint': ({ nodes }, [id, node, epoch]) => {
    const { holder, epoch: now, checkpoint } = nodes.leases.get(id as string)!;
    if (holder !== node || now !== epoch) return NO_ROWS;
    if (checkpoint === null) return [{ value: null, at: new Date(0), epoch: 0 }];
    return [{ value: checkpoint.value, at: new Date(checkpoint.atMs), epoch: checkpoint.epoch }];
  },
};
