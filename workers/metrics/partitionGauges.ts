import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import { readPartitionGauges } from '../../postgres/operations/metrics';
import type { Client } from '../../postgres/pool';

const STATES = ['held', 'revoked', 'free'] as const;

/**
 * Partitions as metrics of a registry: the store's, the same from every process, and how many this
 * process holds.
 */
export class PartitionGauges {
  private readonly partitions: Gauge<'handler' | 'state'>;
  private readonly moves: Gauge<'handler'>;

  /** `held`: partitions of this process; undefined: it is not a node. */
  constructor(registry: Registry, held: { readonly size: number } | undefined) {
    const registers = [registry];
    this.partitions = new Gauge({
      name: 'muster_partitions',
      help: 'Partitions of handlers with affinity, by state: held, revoked (held, and asked back), free',
      labelNames: ['handler', 'state'],
      registers,
    });
    this.moves = new Gauge({
      name: 'muster_partition_moves',
      help: 'How often a partition was given to a node so far',
      labelNames: ['handler'],
      registers,
    });
    if (held !== undefined)
      new Gauge({
        name: 'muster_partitions_held',
        help: 'Partitions that this process holds',
        registers,
        collect() {
          this.set(held.size);
        },
      });
  }

  async read(client: Client): Promise<void> {
    for (const { handler, moves, ...row } of await readPartitionGauges(client)) {
      for (const state of STATES) this.partitions.set({ handler, state }, row[state]);
      this.moves.set({ handler }, moves);
    }
  }
}
