import { ActivityFailure, TimeoutFailure } from '@temporalio/workflow';
import { startLimitMs } from '../planning/startLimit';

/**
 * Decides how long activities wait for their node to start them. After a late start, the next
 * activities of that node wait longer.
 */
export class StartLimits {
  /** By node: for how many milliseconds, in sum, the last consecutive activities waited in vain. */
  private readonly inVainMs = new Map<string, number>();

  of(node: string, leastMs: number): number {
    return startLimitMs(leastMs, this.inVainMs.get(node) ?? 0);
  }

  /**
   * Waits for the work, and learns from its end whether it was started within its limit. Rejects as
   * the work does.
   */
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

/** Says whether an activity was given up because no worker started it in time. */
export const isLateStart = (error: unknown): boolean => {
  const { cause } = error instanceof ActivityFailure ? error : {};
  return cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START';
};
