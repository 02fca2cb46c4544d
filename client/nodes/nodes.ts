import { withRetries } from '../../postgres/errors';
import { hastenWaitingExecutions, WOKEN_AT_ONCE } from '../../postgres/executions/execution';
import { findHandler } from '../../postgres/grouping/handler';
import type { NodeFactsRow } from '../../postgres/nodes/node';
import { drainNode as writeDrain, readNodeFacts, undrainNode } from '../../postgres/nodes/node';
import { readNodeViews } from '../../postgres/nodes/nodeView';
import { partitionResource, pinPartition, readPartitionLoads, LOAD_OVER_MS } from '../../postgres/nodes/partition';
import { findPartition, readPartitionViews, readProcessing } from '../../postgres/nodes/partitionView';
import type { PartitionViewRow } from '../../postgres/nodes/partitionView';
import { inSnapshot } from '../../postgres/snapshot';
import { wakeBalancer, wakeExecutions } from '../../workflows/wake';
import { checkName } from '../arguments';
import type { Connection } from '../connection';
import type { ClientContext } from '../context';
import { NODE_LIVE_MS } from '../context';
import { InvalidArgumentError } from '../errors';
import { NoAffinityError, NodeNotAbleError, UnknownNodeError, UnknownPartitionError } from './errors';
import type { NodeView, PartitionState, PartitionView } from './views';
import { findScope } from '../operations/scope';
import { CHANGE } from '../tasks/failureTexts';

/**
 * Shows nodes and their partitions, and carries out an operator's decisions about them. All facts
 * come from Postgres; Temporal is only used to wake the balancer.
 */

/** The verbs for nodes, the worker processes: `muster.nodes` (docs/systems/nodes.md). */
export class Nodes {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Returns all worker processes that the store knows, which are the live ones and those that
   * stopped sending heartbeats within the last minutes: what each of them serves, holds and
   * processes.
   */
  list(): Promise<NodeView[]> {
    return nodes(this.connection);
  }

  /**
   * Drains a node: it gives up its partitions, gets no others, and answers no roll calls. It
   * continues with everything else, and calls in progress still end. `undo` makes the node eligible
   * again. The node is given by id (only that process) or by name (every process with that name,
   * even after a restart). Throws `UnknownNodeError`, which lists the existing nodes.
   */
  drain(node: string, options?: { undo?: boolean }): Promise<{ nodes: string[]; drained: boolean }> {
    const act = { verb: 'drain', subject: `node ${node}`, detail: options ?? {} };
    return this.connection.steer(CHANGE, act, () => drainNode(this.connection, node, options));
  }
}

/** The verbs for partitions: `muster.partitions` (docs/systems/nodes.md). */
export class Partitions {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Returns, ordered by handler and number and in one snapshot, which node holds each partition,
   * under which epoch, since when and why, and which nodes have calls for it in progress. Throws
   * `NotFoundError` for an unknown handler, and `NoAffinityError` for a handler that any node
   * serves.
   */
  list(options?: PartitionsOptions): Promise<PartitionView[]> {
    return partitions(this.connection, options);
  }

  /**
   * Pins a partition to a node, where it stays while the node is live and able. A name stands for
   * any process with that name, an id for that process only. Null removes the pin. Resolves when
   * the decision is stored; the partition moves once its holder has given it up, within the
   * shutdown limit. Throws `InvalidArgumentError`, `UnknownPartitionError`, `NoAffinityError`,
   * `UnknownNodeError` and `NodeNotAbleError`.
   */
  move(partition: string, node: string | null): Promise<{ partition: string; pinnedTo: string | null }> {
    const act = { verb: 'move', subject: `partition ${partition}`, detail: { node } };
    return this.connection.steer(CHANGE, act, () => movePartition(this.connection, partition, node));
  }
}

const nodes = async (client: ClientContext): Promise<NodeView[]> => {
  await client.ready();
  const rows = await readNodeViews(client.pool, LOAD_OVER_MS);
  return rows.map(({ startedAt, seenMs, hangsMs, ...row }) => ({
    ...row,
    hangsMs: Math.max(0, Math.round(hangsMs)),
    alive: seenMs < NODE_LIVE_MS,
    seenMs: Math.max(0, Math.round(seenMs)),
    startedAt: startedAt.toISOString(),
  }));
};

/** Which partitions to list. */
export interface PartitionsOptions {
  /** Only the partitions of this handler; default: those of all handlers. */
  handler?: string;
}

const partitions = async (client: ClientContext, { handler }: PartitionsOptions = {}): Promise<PartitionView[]> => {
  const handlerId = handler === undefined ? null : (await findScope(client, handler)).handlerId;
  await client.ready();
  const list = await inSnapshot(client.pool, async (db) => {
    const loads = new Map((await readPartitionLoads(db, LOAD_OVER_MS)).map(({ id, batches }) => [id, batches]));
    const calls = await readProcessing(db);
    const rows = await readPartitionViews(db, handlerId);
    return rows.map((row) =>
      viewOf(
        row,
        loads.get(row.id) ?? 0,
        calls.filter(({ id }) => id === row.id),
      ),
    );
  });
  if (list.length === 0 && handler !== undefined) throw new NoAffinityError(handler);
  return list;
};

const viewOf = (
  row: PartitionViewRow,
  load: number,
  calls: readonly { node: string; name: string | null; calls: number }[],
): PartitionView => {
  const held = row.holder !== null;
  return {
    partition: `${row.handler}/${row.no}`,
    handler: row.handler,
    no: row.no,
    state: partitionStateOf(row),
    holder: row.holder,
    holderName: row.holderName,
    epoch: row.epoch,
    sinceMs: held ? whole(row.heldMs) : null,
    leaseLeftMs: held ? whole(row.leftMs) : null,
    revokedMs: whole(row.revokedMs),
    wantedBy: row.wantedBy,
    wantedByName: row.wantedByName,
    keptFor: row.keptFor,
    keptLeftMs: row.keptFor === null ? null : Math.max(0, whole(row.keptLeftMs)!),
    pinnedTo: row.pinnedTo,
    load,
    processing: calls.map(({ node, name, calls: n }) => ({ node, name, calls: n })),
    lastMove: row.movedAt === null ? null : { at: row.movedAt.toISOString(), why: row.reason },
    checkpoint:
      row.checkpointAt === null
        ? null
        : { value: row.checkpoint, at: row.checkpointAt.toISOString(), epoch: row.checkpointEpoch! },
  };
};

function whole(ms: number): number;
function whole(ms: number | null): number | null;
function whole(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}

/** Returns a partition's state. Pure. */
const partitionStateOf = (
  row: Pick<PartitionViewRow, 'holder' | 'leftMs' | 'revokedMs' | 'keptFor' | 'keptLeftMs'>,
): PartitionState => {
  if (row.holder === null) return row.keptFor !== null && (row.keptLeftMs ?? 0) > 0 ? 'kept' : 'free';
  if (row.leftMs <= 0) return 'expired';
  return row.revokedMs === null ? 'held' : 'revoked';
};

const drainNode = async (
  client: ClientContext,
  node: string,
  { undo = false }: { undo?: boolean } = {},
): Promise<{ nodes: string[]; drained: boolean }> => {
  checkName('node', node);
  if (typeof undo !== 'boolean') throw new InvalidArgumentError('undo', 'true or false', undo);
  await client.ready();
  const { ids, wasDrained } = undo
    ? await withRetries(() => undrainNode(client.pool, node))
    : { ids: await withRetries(() => writeDrain(client.pool, node)), wasDrained: false };
  // A node that is missing now may have been drained, and may come back: undoing that is no error.
  if (ids.length === 0 && !wasDrained)
    throw new UnknownNodeError(node, knownOf(await readNodeFacts(client.pool, NODE_LIVE_MS)));
  await wakeTheBalancer(client);
  if (undo && ids.length > 0) await wakeTheWaiting(client);
  return { nodes: ids, drained: !undo };
};

const movePartition = async (
  client: ClientContext,
  partition: string,
  node: string | null,
): Promise<{ partition: string; pinnedTo: string | null }> => {
  const { id, shown } = await findPartitionId(client, partition);
  if (node !== null) await checkAble(client, id, shown, checkName('node', node));
  await withRetries(() => pinPartition(client.pool, id, node));
  await wakeTheBalancer(client);
  return { partition: shown, pinnedTo: node };
};

const PARTITION = /^(?:partition\/)?([\w.-]{1,64})\/(\d{1,4})$/;

const findPartitionId = async (client: ClientContext, given: string): Promise<{ id: string; shown: string }> => {
  const [, handler, no] = PARTITION.exec(checkName('partition', given)) ?? [];
  if (handler === undefined || no === undefined)
    throw new InvalidArgumentError(
      'partition',
      'a partition as "<handler>/<number>"',
      given,
      'See `muster partitions`.',
    );
  await client.ready();
  const [id, shown] = [partitionResource(handler, Number(no)), `${handler}/${Number(no)}`];
  if ((await findPartition(client.pool, id)) !== null) return { id, shown };
  const row = await findHandler(client.pool, handler);
  if (row === null) throw new UnknownPartitionError(given, `handler "${handler}" does not exist`);
  const all = await readPartitionViews(client.pool, row.id);
  if (all.length === 0) throw new NoAffinityError(handler);
  throw new UnknownPartitionError(given, `handler "${handler}" has partitions 0 to ${all.length - 1}`);
};

/**
 * Checks that at least one process with this id or name is able to hold the partition: a new
 * process may have started while the old one is stopping.
 */
const checkAble = async (client: ClientContext, id: string, shown: string, node: string): Promise<void> => {
  const { handler, needs } = (await findPartition(client.pool, id))!;
  const all = await readNodeFacts(client.pool, NODE_LIVE_MS);
  const those = all.filter((one) => one.id === node || one.name === node);
  if (those.length === 0) throw new UnknownNodeError(node, knownOf(all));
  const faults = those.map((one) => faultOf(one, handler, needs));
  const [fault] = faults;
  if (faults.every((one) => one !== null)) throw new NodeNotAbleError(shown, node, fault![0], fault![1]);
};

const faultOf = (
  node: NodeFactsRow,
  handler: string,
  needs: Readonly<Record<string, string>>,
): [why: string, remedy: string] | null => {
  const missing = Object.entries(needs).filter(([key, value]) => node.attributes[key] !== value);
  if (!node.handlers.includes(handler))
    return [
      `lacks handler "${handler}" (it has ${node.handlers.join(', ') || 'none'})`,
      'add the handler to its config file and restart it',
    ];
  if (missing.length > 0)
    return [
      `lacks the attribute ${missing.map(([key, value]) => `${key}=${value}`).join(', ')} (it has ${JSON.stringify(node.attributes)})`,
      'set `nodes.attributes` in its config file and restart it',
    ];
  if (!node.alive) return ['has stopped sending heartbeats', 'choose a live node'];
  if (node.stopping) return ['is stopping', 'choose another node'];
  if (node.drained)
    return ['is drained', `make it eligible again first: \`muster node drain ${node.name ?? node.id} --undo\``];
  return null;
};

const knownOf = (all: readonly NodeFactsRow[]): string[] =>
  all.map(({ id, name }) => (name === null ? id : `${id} (${name})`));

/** Wakes executions that wait for a node. The sweeper of any worker repeats a wake that is lost. */
const wakeTheWaiting = async (client: ClientContext): Promise<void> => {
  const first = await withRetries(() => hastenWaitingExecutions(client.pool, WOKEN_AT_ONCE));
  if (first.length > 0) await client.wake((requests) => wakeExecutions(requests, client.prefix, first));
};

/**
 * Wakes the balancer after the decision was stored. A wake that does not arrive changes nothing,
 * since the sweeper of any worker repeats it.
 */
const wakeTheBalancer = (client: ClientContext): Promise<void> =>
  client.wake((requests) => wakeBalancer(requests, client.prefix));
