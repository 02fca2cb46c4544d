import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import type { HandlerCount } from '../../workflows/temporal/handlerCounts';

/** What Temporal was asked for here, and what it had run here: most of what its cloud bills. */
export interface TemporalCounts {
  requests: () => readonly HandlerCount[];
  runs: () => readonly HandlerCount[];
}

/** Adds the counters of what this process has to do with Temporal, by handler. */
export const addTemporalCounts = (registry: Registry, { requests, runs }: TemporalCounts): void => {
  add(registry, requests, {
    name: 'muster_temporal_requests_total',
    help: 'Starts and signals that this process sent, by what they go to and by handler; terminate: runs it ended',
    label: 'kind',
  });
  add(registry, runs, {
    name: 'muster_temporal_activities_total',
    help: 'Activities that ran in this process, local ones too, by their name and handler',
    label: 'activity',
  });
};

const add = (
  registry: Registry,
  read: () => readonly HandlerCount[],
  { name, help, label }: { name: string; help: string; label: string },
): void => {
  new Counter({
    name,
    help,
    labelNames: [label, 'handler'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { kind, handler, n } of read()) this.inc({ [label]: kind, handler }, n);
    },
  });
};
