import { Counter, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import type { CountedEnd, CountedOutcome } from '../../workflows/planning/outcomes/kinds';
import { CALL_OUTCOMES, ENDS, LATENCY_MS, SIZES, SLOW_MS } from '../../workflows/planning/outcomes/kinds';

/** Counts, since the start of this process, its calls and the ends that it has recorded. */
export class OutcomeMeters {
  private readonly calls = new Counter({
    name: 'muster_calls_total',
    help: 'Calls of this process that have ended, by what they came to; later: the downstream refused for now',
    labelNames: ['handler', 'outcome'],
    registers: [],
  });
  private readonly seconds = new Histogram({
    name: 'muster_call_seconds',
    help: 'Duration of the calls of this process',
    labelNames: ['handler'],
    buckets: [...LATENCY_MS, SLOW_MS].sort((a, b) => a - b).map((ms) => ms / 1_000),
    registers: [],
  });
  private readonly tasks = new Histogram({
    name: 'muster_call_tasks',
    help: 'Tasks per call of this process',
    labelNames: ['handler'],
    buckets: [...SIZES],
    registers: [],
  });
  private readonly ends = new Counter({
    name: 'muster_task_ends_total',
    help: 'Ends of tasks recorded by this process, by the resulting state; retried: the task is tried again',
    labelNames: ['handler', 'state'],
    registers: [],
  });

  /** `handlers`: their counters begin at 0, so that the first event is an increase. */
  constructor(handlers: Iterable<string> = []) {
    for (const handler of handlers) {
      for (const outcome of CALL_OUTCOMES) this.calls.inc({ handler, outcome }, 0);
      for (const state of ENDS) this.ends.inc({ handler, state }, 0);
    }
  }

  /**
   * Begins the counter of what may end without a call, of handlers that other processes serve, too:
   * this one may be the process that ends it.
   */
  begin(handler: string): void {
    this.ends.inc({ handler, state: 'failed' satisfies CountedEnd }, 0);
  }

  register(registry: Registry): void {
    for (const metric of [this.calls, this.seconds, this.tasks, this.ends]) registry.registerMetric(metric);
  }

  called(handler: string, outcome: CountedOutcome, ms: number, tasks: number): void {
    this.calls.inc({ handler, outcome });
    this.seconds.observe({ handler }, ms / 1_000);
    this.tasks.observe({ handler }, tasks);
  }

  ended(handler: string, counts: ReadonlyMap<CountedEnd, number>): void {
    for (const [state, n] of counts) this.ends.inc({ handler, state }, n);
  }
}
