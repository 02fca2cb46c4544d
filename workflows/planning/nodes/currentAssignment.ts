import type { PlannedPartition } from './plan';
import type { Constraint } from './constraints';
import { Constraints } from './constraints';
import type { Node, NodeProcess, Fleet } from './fleet';
import { isAble, nodeNamed } from './fleet';
import type { Limits, PartitionFacts } from './types';

/** Says whether no node holds the partition. */
export const isFree = ({ holder, expired }: PartitionFacts): boolean => holder === null || expired;

/**
 * Returns the partitions with the nodes that they have before anything is planned. Partitions of a
 * node that is away within the restart grace are left out: they wait for that node, and count for
 * none.
 */
export const currentAssignment = (
  partitions: readonly PartitionFacts[],
  fleet: Fleet,
  limits: Limits,
): PlannedPartition[] => {
  const constraints = new Constraints(fleet.open);
  return partitions.flatMap((facts) => {
    const pinned = pinnedNode(facts, fleet);
    const holder = facts.holder === null ? undefined : fleet.processes.get(facts.holder);
    if (holder !== undefined && isKept(facts, holder.node, pinned)) return [];
    return [
      plannedPartition(
        facts,
        { fleet, holder, constraint: pinned === null ? constraints.of(facts) : constraints.only(pinned.index) },
        limits,
      ),
    ];
  });
};

const pinnedNode = (facts: PartitionFacts, fleet: Fleet): Node | null => {
  const node = facts.pinned === null ? undefined : nodeNamed(fleet, facts.pinned);
  return node?.state === 'open' && isAble(node.process, facts) ? node : null;
};

const isKept = (facts: PartitionFacts, node: Node, pinned: Node | null): boolean =>
  node.state === 'away' && facts.revokedFor === null && pinned === null && isAble(node.process, facts);

interface Context {
  fleet: Fleet;
  holder: NodeProcess | undefined;
  constraint: Constraint;
}

const plannedPartition = (
  facts: PartitionFacts,
  { fleet, holder, constraint }: Context,
  limits: Limits,
): PlannedPartition => {
  const may = (node: Node | undefined): node is Node => node?.state === 'open' && constraint.allows(node.index);
  const wanted = facts.revokedFor === null ? undefined : nodeNamed(fleet, facts.revokedFor);
  const isTheNode = holder !== undefined && holder.process === holder.node.process;
  const mayStay = may(holder?.node);
  const node = may(wanted) ? wanted.index : mayStay ? holder.node.index : -1;
  const isHeld = !isFree(facts) && facts.revokedFor === null && isTheNode && mayStay;
  return {
    facts,
    constraint,
    weight: limits.by === 'count' ? 1 : weightOf(facts),
    origin: isHeld ? node : -1,
    begun: may(wanted),
    young: facts.heldMs < limits.minimumHoldMs,
    leaves: isHeld ? null : whyItLeaves(facts, holder),
    node,
    step: null,
    steps: 0,
  };
};

/** A partition of less weight counts as idle: sums would lose so small a weight. */
const LEAST_WEIGHT = 1e-9;
const weightOf = ({ weight }: PartitionFacts): number => {
  if (!Number.isFinite(weight) || weight < 0) return 1;
  return weight < LEAST_WEIGHT ? 0 : weight;
};

const whyItLeaves = (facts: PartitionFacts, holder: NodeProcess | undefined): PlannedPartition['leaves'] => {
  if (holder === undefined) return null;
  if (holder.process.draining) return 'drain';
  return isAble(holder.process, facts) ? 'pinned' : 'attributes';
};
