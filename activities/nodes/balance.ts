import {
  lockAssignor,
  assignPartitions,
  partitionName,
  readPartitionLoads,
  readLastMoves,
  readPartitions,
  revokePartitions,
  LOAD_OVER_MS,
} from '../../postgres/nodes/partition';
import type { PartitionRow } from '../../postgres/nodes/partition';
import { readNodeFacts } from '../../postgres/nodes/node';
import type { NodeFactsRow } from '../../postgres/nodes/node';
import { wakeServedLeaders } from '../../postgres/grouping/leaderWakes';
import { markServedLanes } from '../../postgres/lanes/lane';
import { withRetries } from '../../postgres/errors';
import type { Client } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { WAKE_LEASE_MS } from '../../postgres/grouping/ring';
import type { BalanceAnswer, BalanceInput } from '../../workflows/messages';
import { assign } from '../../workflows/planning/nodes/assign';
import { limitsOf } from '../../workflows/planning/nodes/limits';
import type { Move, NodeFacts, PartitionFacts } from '../../workflows/planning/nodes/types';
import { nextRoundInMs } from '../../workflows/planning/nodes/rounds';
import type { ActivityDeps } from '../deps';
import type { NodeSettings } from './settings';
import { wake } from '../grouping/ring';
import { wakeQueuersOf } from '../lanes/ring';
import { BEGIN_SHORT } from '../../postgres/shortTransaction';

/** A process that holds nothing and was silent for this many leases gets no partitions. */
const SILENT_LEASES = 1;
/** Most moves shown to operators: they are kept in a workflow's history. */
const LAST_MOVES = 20;

export type BalanceDeps = Pick<ActivityDeps, 'pool' | 'requests' | 'prefix' | 'log' | 'nodes'>;

/**
 * Runs one round of the balancer: reads which nodes are live and which hold what, plans, asks back
 * and gives out; in one transaction under the assignor's lease, each write guarded by the epoch
 * that the plan saw. A round that runs again finds its own writes, and has nothing to do.
 */
export const balancePartitions = async (deps: BalanceDeps, input: BalanceInput): Promise<BalanceAnswer> => {
  const round = await withRetries(() =>
    inTransaction(deps.pool, (client) => takeRound(client, deps.nodes, input), BEGIN_SHORT),
  );
  // After the commit, wake the work that waited for a holder.
  if (round.given.length > 0) await wakeServed(deps, round.given);
  for (const move of round.moves) deps.log.info({ ...move }, 'balancer');
  return { ...round.answer, moved: round.moves.length, last: await readLastMoves(deps.pool, LAST_MOVES) };
};

interface Round {
  moves: Move[];
  given: string[];
  answer: Omit<BalanceAnswer, 'last' | 'moved'>;
}

const takeRound = async (client: Client, settings: NodeSettings, { runId }: BalanceInput): Promise<Round> => {
  const epoch = await lockAssignor(client, runId);
  const rows = await readPartitions(client, settings.leaseMs);
  const nodes = await readNodeFacts(client, SILENT_LEASES * settings.leaseMs);
  const loads = settings.by === 'load' ? await readPartitionLoads(client, LOAD_OVER_MS) : null;
  const facts = factsOf(rows, nodes, loads, settings);
  const moves = assign(facts.partitions, facts.nodes, limitsOf(settings));
  const rowOf = new Map(rows.map((row) => [partitionName(row.id), row]));
  const was = (name: string): { partition: string; epoch: number } => ({
    partition: rowOf.get(name)!.id,
    epoch: rowOf.get(name)!.epoch,
  });
  const of = (kind: Move['kind']): Move[] => moves.filter((move) => move.kind === kind);
  const asked = await revokePartitions(
    client,
    of('revoke').map(({ partition, to, explanation }) => ({ ...was(partition), wantedBy: to, reason: explanation })),
  );
  const given = await assignPartitions(
    client,
    of('assign').map(({ partition, to, explanation }) => ({ ...was(partition), node: to!, reason: explanation })),
    settings.leaseMs,
  );
  const written = new Set([...asked, ...given]);
  const made = moves.filter(({ partition }) => written.has(was(partition).partition));
  const alive = new Set(nodes.filter((node) => node.alive).map(({ id }) => id));
  const isAlive = ({ holder }: PartitionRow): boolean => holder !== null && alive.has(holder);
  const roundFacts = rows.map((row) => ({ ...row, holderAlive: isAlive(row) }));
  const missed = moves.length - made.length;
  const dueInMs = nextRoundInMs(roundFacts, { asked: asked.length, given: given.length, missed }, settings);
  const held = rows.filter(({ holder, expired }) => holder !== null && !expired).length;
  const answer = { epoch, partitions: rows.length, nodes: alive.size, held, waiting: waitingOf(rows, asked), dueInMs };
  return { moves: made, given, answer };
};

/** Counts partitions whose nodes are still to give them up. */
const waitingOf = (rows: readonly PartitionRow[], asked: readonly string[]): number =>
  rows.filter(({ holder, expired, revokedMs }) => holder !== null && !expired && revokedMs !== null).length +
  asked.length;

/**
 * Builds the planner's facts. A partition that was given up for a restart counts as held by its
 * absent node, under the name that it will come back with.
 */
const factsOf = (
  rows: readonly PartitionRow[],
  nodes: readonly NodeFactsRow[],
  loads: readonly { id: string; batches: number }[] | null,
  { shutdownLimitMs, leaseMs }: NodeSettings,
): { partitions: PartitionFacts[]; nodes: NodeFacts[] } => {
  const load = loads === null ? null : new Map(loads.map(({ id, batches }) => [id, batches]));
  const absent = new Map<string, PartitionRow[]>();
  const partitions = rows.map((row): PartitionFacts => {
    const kept = row.holder === null && row.keptFor !== null && (row.keptLeftMs ?? 0) > 0 ? row.keptFor : null;
    if (kept !== null) {
      const others = absent.get(kept);
      if (others === undefined) absent.set(kept, [row]);
      else others.push(row);
    }
    const holder = kept === null ? row.holder : restarting(kept);
    const overdue = row.revokedMs !== null && row.revokedMs >= shutdownLimitMs;
    return {
      id: partitionName(row.id),
      holder,
      epoch: row.epoch,
      expired: row.expired || overdue || row.holder === null,
      heldMs: row.heldMs,
      revokedFor: row.wantedBy,
      weight: load?.get(row.id) ?? (load === null ? 1 : 0),
      attributes: row.needs,
      handler: row.handler,
      pinned: row.pinnedTo,
    };
  });
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const dead = new Set(
    rows.filter((row) => hasMissed(byId.get(row.holder ?? ''), row, leaseMs)).map(({ holder }) => holder),
  );
  const facts = nodes.map((node) => nodeFacts(dead.has(node.id) ? { ...node, alive: false } : node));
  const away = [...absent].map(([name, kept]) => absentNode(restarting(name), name, kept));
  return { partitions, nodes: [...facts, ...away] };
};

/** Id of a process that stopped and is to restart, and has no id now. */
const restarting = (name: string): string => `${name} (restarting)`;

/**
 * A lease of this node passed, and its last sign of life is from well before that: it died or was
 * stopped, though less than a lease has gone by since that sign. Such a node gets nothing back.
 */
const hasMissed = (holder: NodeFactsRow | undefined, { expired, leftMs }: PartitionRow, leaseMs: number): boolean =>
  expired && holder !== undefined && holder.seenMs + leftMs > leaseMs / 2;

/** Describes an absent node by what it gave up: it is able to serve all of that. */
const absentNode = (id: string, name: string, kept: readonly PartitionRow[]): NodeFacts => ({
  id,
  alive: false,
  draining: false,
  attributes: Object.assign({}, ...kept.map(({ needs }) => needs)) as Record<string, string>,
  handlers: [...new Set(kept.map(({ handler }) => handler))],
  isKept: true,
  successorOf: name,
});

/**
 * A named process that is stopping will come back: treat it as away, not dead, and give it nothing
 * in the meantime.
 */
const nodeFacts = (node: NodeFactsRow): NodeFacts => ({
  id: node.id,
  alive: node.alive && !(node.stopping && node.name !== null),
  draining: node.drained || (node.stopping && node.name === null),
  attributes: node.attributes,
  handlers: node.handlers,
  isKept: node.alive, // stopping, or it would count as alive
  successorOf: node.name,
  startedMs: node.startedMs,
});

/**
 * Rings leaders and lanes that may have waited for a holder. The sweeper repeats a leader's wake
 * that is lost.
 */
const wakeServed = async (deps: BalanceDeps, given: readonly string[]): Promise<void> => {
  try {
    await wake(deps, await wakeServedLeaders(deps.pool, given, WAKE_LEASE_MS));
    const queuers = await markServedLanes(deps.pool, given);
    if (queuers.length > 0) await wakeQueuersOf(deps, queuers);
  } catch (error) {
    deps.log.warn({ err: error }, 'balancer: leaders and lanes that waited for a holder were not woken');
  }
};
