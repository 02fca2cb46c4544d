import type { Registry } from 'prom-client';
import { Gauge } from 'prom-client';
import { readClocks } from '../../postgres/clockSkew';
import type { Client } from '../../postgres/pool';

/** How far this process's clock is from the store's, as a metric of a registry. */
export class ClockGauge {
  private readonly gauge: Gauge;

  constructor(registry: Registry) {
    this.gauge = new Gauge({
      name: 'muster_clock_skew_seconds',
      help: "How far this process's clock is from the store's, at least: less than a round trip is not seen",
      registers: [registry],
    });
  }

  async read(client: Client): Promise<void> {
    this.gauge.set((await readClocks(client)).skewMs / 1_000);
  }
}
