import { MusterError } from '../errors';

/**
 * The errors of the verbs for nodes and partitions. Each names the field, what was expected, what
 * was given, and the remedy.
 */

const listed = (names: readonly string[], none: string): string =>
  names.length === 0
    ? none
    : `${names.slice(0, 20).join(', ')}${names.length > 20 ? ` and ${names.length - 20} more` : ''}`;

/** No node has this id or name. Nothing was changed. */
export class UnknownNodeError extends MusterError {
  constructor(
    got: string,
    /** Ids of the existing nodes, with their names. */
    readonly known: readonly string[],
  ) {
    super(
      'NOT_FOUND',
      `node: expected the id or the name of a node (${listed(known, 'no node is running: start one with `muster worker`')}), got ${JSON.stringify(got)}. Nothing was changed; see \`muster nodes\`.`,
    );
  }
}

/**
 * The node cannot hold the partition: it lacks the handler or attributes that the partition
 * requires, is drained or stopping, or sends no heartbeats. Nothing was changed.
 */
export class NodeNotAbleError extends MusterError {
  constructor(partition: string, node: string, why: string, remedy: string) {
    super(
      'INVALID_NODE',
      `node: expected a node that can hold partition ${partition}, got ${JSON.stringify(node)}, which ${why}. Nothing was changed; ${remedy}.`,
    );
  }
}

/** No partition has this name. Nothing was changed. */
export class UnknownPartitionError extends MusterError {
  constructor(got: string, why: string) {
    super(
      'NOT_FOUND',
      `partition: expected "<handler>/<number>", got ${JSON.stringify(got)}: ${why}. Nothing was changed; see \`muster partitions\`.`,
    );
  }
}

/** The handler has no partitions, since any node serves it. */
export class NoAffinityError extends MusterError {
  constructor(handler: string) {
    super(
      'INVALID_HANDLER',
      `handler: expected a handler with affinity, got ${JSON.stringify(handler)}, which any node can serve. Give it \`affinity: 'partition'\` in the config file and start a worker with it.`,
    );
  }
}
