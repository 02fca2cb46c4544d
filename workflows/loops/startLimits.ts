import { ActivityFailure, TimeoutFailure } from '@temporalio/workflow';
import { startLimitMs } from '../planning/startLimit';

/**
 * Decides how long dispatches wait for their node to begin them; after a late start, the next ones
 * wait longer.
 */
export class StartLimits {
  /** By node: how long the last dispatches waited in vain, one after another. */
  private readonly inVainMs = new Map<string, number>();

  of(node: string, leastMs: number): number {
    return startLimitMs(leastMs, this.inVainMs.get(node) ?? 0);
  }

  /** Returns the work, and learns from its end whether it was begun within its limit. */
  async watch(node: string, work: Promise<void>, limitMs: number): Promise<void> {
    try {
      await work;
      this.inVainMs.delete(node);
    } catch (error) {
      if (isLateStart(error)) this.inVainMs.set(node, (this.inVainMs.get(node) ?? 0) + limitMs);
      else this.inVainMs.delete(node);
      throw error;
    }
  }
}

/** Says whether an activity was given up before a worker began it. */
export const isLateStart = (error: unknown): boolean => {
  const { cause } = error instanceof ActivityFailure ? error : {};
  return cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START';
};
