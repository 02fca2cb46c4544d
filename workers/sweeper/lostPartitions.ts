import type { ActivityDeps } from '../../activities/deps';
import type { NodeSettings } from '../../activities/nodes/settings';
import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import { hasLostPartitions } from '../../postgres/nodes/partition';
import { wakeBalancer } from '../../workflows/wake';
import { BackOff } from './backOff';
import type { SweepCounts } from './counts';

/** Other processes wake the balancer immediately; after this time they evidently did not. */
const LOST_MS = 1_000;

type Deps = Pick<ActivityDeps, 'pool' | 'requests' | 'prefix' | 'log'> & {
  nodes?: Pick<NodeSettings, 'leaseMs' | 'shutdownLimitMs'>;
};

/**
 * The sweeper's part in balancing: finds partitions that a live node could have and no node holds,
 * or that were to be given up long ago.
 */
export class LostPartitions {
  private readonly backOff = new BackOff();

  constructor(private readonly deps: Deps) {}

  /** Says whether there are any, and wakes the balancer. */
  async look(counts: Pick<SweepCounts, 'balancerWakes'>): Promise<boolean> {
    const { pool, requests, prefix, log, nodes = DEFAULT_NODE_SETTINGS } = this.deps;
    const lost = await hasLostPartitions(pool, nodes.leaseMs, nodes.shutdownLimitMs + LOST_MS);
    if (!this.backOff.mayTry('balancer', lost)) return lost;
    counts.balancerWakes++;
    const failure = await wakeBalancer(requests, prefix);
    if (failure !== null && this.backOff.wakeFailed('balancer'))
      log.warn({ err: failure }, 'sweeper: the balancer was not woken; rounds try again every few seconds');
    return lost;
  }
}
