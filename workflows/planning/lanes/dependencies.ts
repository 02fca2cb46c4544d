import { approachOf } from './approaches';
import { DEPENDENCIES_MAX } from './limits';
import { isEnded } from './statuses';
import type { LaneBatchStatus } from './statuses';
import type { Lane, QueuedBatch } from './types';

/** A batch that a call submits, before it is stored. */
export interface NewBatch extends Pick<QueuedBatch, 'reads' | 'writes'> {
  id: string;
  lane: Pick<Lane, 'service' | 'kind' | 'approach' | 'onInvalid'>;
  /** Ids of batches of the same call, or of batches stored before. */
  dependsOn: readonly string[];
}

/**
 * The batches for which a new batch waits, and the dependency on which it fails at once, because
 * that one ended in any way but committed.
 */
export interface Dependencies {
  waitsFor: string[];
  failedOn: string | null;
}

/**
 * Checks the dependencies of the batches of one call, given in their order, and returns what each
 * of them waits for. `statusOf` returns the status of a stored batch. Batches of the same lane also
 * wait for each other, as far as the approach of their lane demands: a cycle through that order
 * would block its lanes without end, so it is refused too. Stored batches wait for no new batch, so
 * no cycle can lead through them.
 * @throws Error that names the batch: it has too many dependencies, an unknown one, itself as one,
 * or is in a cycle (given with its whole path); or two batches have the same id.
 */
export const checkDependencies = (
  batches: readonly NewBatch[],
  statusOf: (id: string) => LaneBatchStatus | undefined,
): Map<string, Dependencies> => {
  const byId = new Map(batches.map((batch) => [batch.id, batch]));
  if (byId.size < batches.length) throw new Error('batches: expected distinct ids in one call');
  const checked = new Map(batches.map((batch) => [batch.id, lookUp(batch, byId, statusOf)]));
  const cycle = findCycle(edgesOf(batches));
  if (cycle !== null)
    throw new Error(`dependsOn: expected no cycle, got ${describe(cycle)}; leave one of these dependencies out`);
  // A batch of the call that fails at once also fails the batches that depend on it.
  const dependents = new Map<string, string[]>();
  for (const { id, dependsOn } of batches)
    for (const needed of dependsOn) dependents.set(needed, [...(dependents.get(needed) ?? []), id]);
  const failed = [...checked].filter(([, { failedOn }]) => failedOn !== null).map(([id]) => id);
  for (const { id, on } of failureClosure(failed, (id) => dependents.get(id) ?? []))
    checked.set(id, { waitsFor: [], failedOn: on });
  return checked;
};

const lookUp = (
  { id, dependsOn }: NewBatch,
  byId: ReadonlyMap<string, NewBatch>,
  statusOf: (id: string) => LaneBatchStatus | undefined,
): Dependencies => {
  if (dependsOn.length > DEPENDENCIES_MAX)
    throw new Error(`dependsOn of batch ${id}: expected at most ${DEPENDENCIES_MAX} batches, got ${dependsOn.length}`);
  const waitsFor: string[] = [];
  let failedOn: string | null = null;
  for (const needed of new Set(dependsOn)) {
    if (needed === id) throw new Error(`dependsOn of batch ${id}: expected other batches, got itself`);
    const status = byId.has(needed) ? 'unsubmitted' : statusOf(needed);
    if (status === undefined)
      throw new Error(
        `dependsOn of batch ${id}: expected ids of batches accepted before or of this call, got ${needed}`,
      );
    if (!isEnded(status)) waitsFor.push(needed);
    else if (status !== 'committed') failedOn ??= needed;
  }
  return { waitsFor, failedOn };
};

/**
 * Says whether a batch may be sent to a downstream that knows dependencies, by the status of one of
 * them. `unsure`: an earlier call of the batch may have been applied, so it is not failed unsent.
 */
export const isHandedOver = (status: LaneBatchStatus, unsure: boolean): boolean =>
  status === 'pending' || status === 'valid' || status === 'committed' || (unsure && isEnded(status));

interface Edge {
  to: string;
  why: string;
}

/**
 * Returns the batches for which each batch of the call must wait: those that it names, of which the
 * stored ones lead nowhere, and those before it in its lane.
 */
const edgesOf = (batches: readonly NewBatch[]): Map<string, Edge[]> => {
  const lanes = new Map<string, NewBatch[]>();
  const edges = new Map<string, Edge[]>();
  for (const batch of batches) {
    const { service } = batch.lane;
    const earlier = lanes.get(service) ?? [];
    const named = batch.dependsOn.map((to) => ({ to, why: 'depends on' }));
    const inLane = orderedBehind(batch, earlier).map((to) => ({ to, why: `comes in lane ${service} after` }));
    edges.set(batch.id, [...named, ...inLane]);
    earlier.push(batch);
    lanes.set(service, earlier);
  }
  return edges;
};

/**
 * Returns for which of the earlier batches of its lane in the call the batch waits. Unless the lane
 * is parallel, the batch right before represents all before that.
 */
const orderedBehind = (batch: NewBatch, earlier: readonly NewBatch[]): string[] => {
  const { approach, kind } = approachOf(batch.lane);
  if (approach.name !== 'parallel') earlier = earlier.slice(-1);
  const asOpen = ({ reads, writes }: NewBatch) => ({ status: 'unsubmitted' as const, reads, writes });
  return earlier
    .filter((one) => approach.blockedBy(asOpen(batch), [asOpen(one)], [], kind) !== null)
    .map(({ id }) => id);
};

/**
 * Returns the first cycle found, as the edges along it; null: there is none. Searches depth first
 * without recursion, since chains may be long.
 */
const findCycle = (edges: ReadonlyMap<string, readonly Edge[]>): (Edge & { from: string })[] | null => {
  const done = new Set<string>();
  for (const start of edges.keys()) {
    if (done.has(start)) continue;
    const path = [{ id: start, next: 0 }];
    const onPath = new Set([start]);
    while (path.length > 0) {
      const here = path.at(-1)!;
      const edge = edges.get(here.id)?.[here.next];
      here.next += 1;
      if (edge === undefined) {
        done.add(here.id);
        onPath.delete(here.id);
        path.pop();
      } else if (onPath.has(edge.to)) {
        const from = path.findIndex(({ id }) => id === edge.to);
        return path.slice(from).map(({ id, next }) => ({ ...edges.get(id)![next - 1]!, from: id }));
      } else if (!done.has(edge.to)) {
        path.push({ id: edge.to, next: 0 });
        onPath.add(edge.to);
      }
    }
  }
  return null;
};

const describe = (cycle: readonly (Edge & { from: string })[]): string =>
  `${cycle[0]!.from}${cycle.map(({ why, to }) => ` ${why} ${to}`).join(', which')}`;

/**
 * Returns the batches that fail because `failed` do, directly or through others: each once, nearest
 * first, with the batch on which it fails.
 */
export const failureClosure = <Id>(
  failed: readonly Id[],
  dependentsOf: (id: Id) => readonly Id[],
): { id: Id; on: Id }[] => {
  const seen = new Set(failed);
  const all: { id: Id; on: Id }[] = [];
  const queue = [...failed];
  for (let at = 0; at < queue.length; at += 1)
    for (const id of dependentsOf(queue[at]!)) {
      if (seen.has(id)) continue;
      seen.add(id);
      all.push({ id, on: queue[at]! });
      queue.push(id);
    }
  return all;
};
