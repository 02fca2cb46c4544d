import { setTimeout as sleep } from 'node:timers/promises';
import { balancePartitions } from '../../activities/nodes/balance';
import type { ActivityDeps } from '../../activities/deps';
import { acquireLease } from '../../postgres/lease';
import { wakeBalancer } from '../../workflows/wake';

type Deps = Pick<ActivityDeps, 'pool' | 'requests' | 'prefix' | 'log' | 'node' | 'heartbeat' | 'partitions' | 'nodes'>;

/** Of all nodes that notice the same, only one wakes the balancer. */
const WAKE_RESOURCE = 'wake-balancer';
const WAKE_MS = 1_000;
const AGAIN_MS = 1_000;
/** How long the other nodes leave it to that one. */
const LAST_WORD_MS = 2_000;

/**
 * This node's part in the spreading of partitions: it keeps those that it is given, and tells the
 * balancer what it observes.
 */
export class Balancing {
  private readonly stopped = new AbortController();

  /** `deps` is being made when this is: it is read later. */
  constructor(private readonly deps: () => Deps) {}

  /**
   * Announces the node, which may now have partitions, after its first sign of life. Repeats it
   * until the balancer has it.
   */
  start(): void {
    const { heartbeat, partitions, nodes } = this.deps();
    heartbeat.partitions(nodes, {
      held: (seen, atNs) => partitions.heard(seen, atNs),
      silentNode: () => void this.runRound(),
      back: () => void this.wake(),
    });
    void this.wake();
  }

  /** Wakes the balancer. Never throws; tries again while Temporal is unreachable. */
  async wake(): Promise<void> {
    const { requests, prefix, log } = this.deps();
    for (let logged = false; ;) {
      const failure = await wakeBalancer(requests, prefix);
      if (failure === null || this.stopped.signal.aborted) return; // others wake it, or the sweeper
      if (!logged) log.warn({ err: failure }, 'the balancer was not woken; trying again');
      logged = true;
      await sleep(AGAIN_MS, undefined, { signal: this.stopped.signal }).catch(() => undefined);
    }
  }

  /** Gives up everything that is still held, and wakes the balancer if it can. */
  async stop(): Promise<void> {
    const { partitions } = this.deps();
    this.stopped.abort();
    if (await partitions.stop()) await Promise.race([this.wake(), sleep(LAST_WORD_MS, undefined, { ref: false })]);
  }

  /**
   * Reports what many nodes see at the same time; one of them runs a round itself. The balancer's
   * workflow may be slow to do so: a process that was stopped keeps its polls open at the Temporal
   * server, and takes with it any task that is given to them.
   */
  private async runRound(): Promise<void> {
    const { pool, node, log } = this.deps();
    try {
      if ((await acquireLease(pool, WAKE_RESOURCE, node, WAKE_MS)) === null) return;
      await balancePartitions(this.deps(), { runId: node, turn: 1 });
      await this.wake();
    } catch (error) {
      log.warn(
        { err: error },
        'a node stopped sending heartbeats, but the balancer was not woken; the sweeper will wake it',
      );
    }
  }
}
