import type { Registry } from 'prom-client';
import { Gauge } from 'prom-client';
import { readBulkGauges } from '../../postgres/bulk/action';
import type { Client } from '../../postgres/pool';

/** Bulk actions that have not ended, as metrics of a registry. */
export class BulkGauges {
  private readonly open: Gauge;
  private readonly oldestStep: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    this.open = new Gauge({ name: 'muster_bulk_actions', help: 'Bulk actions that have not ended', registers });
    this.oldestStep = new Gauge({
      name: 'muster_bulk_oldest_step_seconds',
      help: 'Time since the bulk action that stands for longest made a step; 0: none is open',
      registers,
    });
  }

  async read(client: Client): Promise<void> {
    const { open, oldestStepSeconds } = await readBulkGauges(client);
    this.open.set(open);
    this.oldestStep.set(oldestStepSeconds);
  }
}
