import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Client } from '../../postgres/pool';
import type { OverdueGauge } from '../../postgres/sweeper/overdueWork';
import { readOverdueGauges } from '../../postgres/sweeper/overdueWork';
import type { Wakes } from '../../postgres/sweeper/unanswered';
import { readWakes } from '../../postgres/sweeper/unanswered';
import { UNANSWERED_MS } from '../../workflows/planning/liveness';

/** What has stalled, as metrics of a registry: wakes without a turn, and work that is overdue. */
export class StalledGauges {
  private readonly unanswered: Gauge<'kind'>;
  private readonly oldestUnanswered: Gauge<'kind'>;
  private readonly stalled: Gauge<'kind'>;
  private readonly oldestStalled: Gauge<'kind'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.unanswered = new Gauge({
      name: 'muster_unanswered_wakes',
      help: 'Leaders and queuers that were woken more than 30 s ago and have taken no turn since',
      labelNames: ['kind'],
      registers,
    });
    this.oldestUnanswered = new Gauge({
      name: 'muster_oldest_unanswered_wake_seconds',
      help: 'Age of the oldest wake that no turn has answered',
      labelNames: ['kind'],
      registers,
    });
    this.stalled = new Gauge({
      name: 'muster_stalled',
      help: 'Monitors, notifiers, balancers, executions and dispatches with work overdue by more than 60 s and no sign of life; reads of results without one for 60 s',
      labelNames: ['kind'],
      registers,
    });
    this.oldestStalled = new Gauge({
      name: 'muster_oldest_stalled_seconds',
      help: 'Time since the oldest such work was due, or its last result came; 0: none has stalled',
      labelNames: ['kind'],
      registers,
    });
  }

  async read(client: Client): Promise<void> {
    this.showWakes(await readWakes(client, UNANSWERED_MS));
    this.showOverdue(await readOverdueGauges(client));
  }

  private showWakes(wakes: readonly Wakes[]): void {
    for (const { kind, late, oldestMs } of wakes) {
      this.unanswered.set({ kind }, late);
      this.oldestUnanswered.set({ kind }, oldestMs / 1_000);
    }
  }

  private showOverdue(kinds: readonly OverdueGauge[]): void {
    for (const { kind, n, oldestMs } of kinds) {
      this.stalled.set({ kind }, n);
      this.oldestStalled.set({ kind }, oldestMs / 1_000);
    }
  }
}
