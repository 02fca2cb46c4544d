import { Counter, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import type { End } from './tally';
import { ENDS } from './tally';

/** From a call in the same network to one of minutes. */
const SECONDS = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const TASKS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 10_000];

/** What a call came to, as it is counted. */
export const CALL_OUTCOMES = ['results', 'accepted', 'later', 'rejected', 'halted', 'unknown', 'look-again'] as const;
export type CallOutcome = (typeof CALL_OUTCOMES)[number];

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
    buckets: SECONDS,
    registers: [],
  });
  private readonly tasks = new Histogram({
    name: 'muster_call_tasks',
    help: 'Tasks per call of this process',
    labelNames: ['handler'],
    buckets: TASKS,
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

  register(registry: Registry): void {
    for (const metric of [this.calls, this.seconds, this.tasks, this.ends]) registry.registerMetric(metric);
  }

  called(handler: string, outcome: CallOutcome, ms: number, tasks: number): void {
    this.calls.inc({ handler, outcome });
    this.seconds.observe({ handler }, ms / 1_000);
    this.tasks.observe({ handler }, tasks);
  }

  ended(handler: string, counts: ReadonlyMap<End, number>): void {
    for (const [state, n] of counts) this.ends.inc({ handler, state }, n);
  }
}
