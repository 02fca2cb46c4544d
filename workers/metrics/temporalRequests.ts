import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import type { RequestCounts } from '../../workflows/temporal/requests';

/** Adds the counter of workflows that this process has woken, and of runs that it has ended. */
export const addTemporalRequests = (registry: Registry, read: () => RequestCounts): void => {
  new Counter({
    name: 'muster_temporal_requests_total',
    help: 'Wakes of workflows that this process sent, by workflow; terminate: stuck runs that it ended',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [kind, n] of Object.entries(read())) this.inc({ kind }, n);
    },
  });
};
