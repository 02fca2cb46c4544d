/** What sends the work of a simulated store: the leaders of queues, or the queuer of lanes. */
export interface Work {
  /** Does some of what is due now; false: nothing was. */
  step(): Promise<boolean>;
  /** Returns the next instant after this one at which something is due; Infinity: none is. */
  nextAtMs(afterMs: number): number;
}
