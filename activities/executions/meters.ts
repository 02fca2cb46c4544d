import { Counter, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import { CLOSE_REASONS } from '../../postgres/executions/chunk';
import type { CloseReason } from '../../postgres/executions/chunk';
import type { Recorded } from '../../postgres/executions/workItem';

/** From a function in memory to a call of minutes. */
const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 30, 60, 300, 1_800];

/**
 * What this process has done for executions since its start: the metrics are summed over processes.
 */
export class ExecutionMeters {
  private readonly runs = new Counter({
    name: 'muster_item_runs_total',
    help: 'Runs of work items recorded by this process, by the resulting state of the item',
    labelNames: ['state'],
    registers: [],
  });
  private readonly seconds = new Histogram({
    name: 'muster_item_run_seconds',
    help: 'Duration of runs of work items on this process, up to their time limit',
    buckets: SECONDS,
    registers: [],
  });
  private readonly chunks = new Counter({
    name: 'muster_chunks_given_back_total',
    help: 'Chunks that this process closed before they ended, by reason; their items are created again without counting an attempt',
    labelNames: ['reason'],
    registers: [],
  });

  constructor() {
    this.recorded({ done: 0, failed: 0, dead: 0 });
    for (const reason of CLOSE_REASONS) this.chunks.inc({ reason }, 0);
  }

  register(registry: Registry): void {
    registry.registerMetric(this.runs);
    registry.registerMetric(this.seconds);
    registry.registerMetric(this.chunks);
  }

  ran(ms: number): void {
    this.seconds.observe(ms / 1_000);
  }
  recorded({ done, failed, dead }: Pick<Recorded, 'done' | 'failed' | 'dead'>): void {
    this.runs.inc({ state: 'done' }, done);
    this.runs.inc({ state: 'failed' }, failed);
    this.runs.inc({ state: 'permanently-failed' }, dead);
  }
  gaveBack(reason: CloseReason): void {
    this.chunks.inc({ reason });
  }
}
