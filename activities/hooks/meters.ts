import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import { HOOK_NAMES } from '../../handlers/hooks/bounded';
import type { HookName } from '../../handlers/hooks/bounded';

const FAULTS = ['threw', 'late'] as const;

/** Counts, since the start of this process, hooks that failed. */
export class HookMeters {
  private readonly failures = new Counter({
    name: 'muster_hook_failures_total',
    help: 'Calls of a hook of this process that threw an error (other than a refusal), or did not end in time',
    labelNames: ['hook', 'why'],
    registers: [],
  });

  constructor() {
    for (const hook of HOOK_NAMES) for (const why of FAULTS) this.failures.inc({ hook, why }, 0);
  }

  register(registry: Registry): void {
    registry.registerMetric(this.failures);
  }

  failed(hook: HookName, why: (typeof FAULTS)[number]): void {
    this.failures.inc({ hook, why });
  }
}
