import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import type { RequestCounts } from '../../workflows/temporal/requests';

/** Adds the counter of what this process has asked Temporal to start, signal or end. */
export const addTemporalRequests = (registry: Registry, read: () => RequestCounts): void => {
  new Counter({
    name: 'muster_temporal_requests_total',
    help: 'Starts, signals and terminations of workflows that this process sent, by workflow; terminate: of a run',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [kind, n] of Object.entries(read())) this.inc({ kind }, n);
    },
  });
};
