import { setTimeout as sleep } from 'node:timers/promises';
import type { BulkContext } from '../../client/bulk/step';
import { makeBulkStep } from '../../client/bulk/step';
import type { SweepCounts } from '../sweeper/counts';
import type { ChangingDeps } from './context';
import { changing } from './context';

/** Longest pause between two steps: a step's time, so that others have the database, too. */
const LONGEST_REST_MS = 200;

/**
 * Works off bulk actions, beside the sweeper's rounds: a round begins what a process that died has
 * left. Two processes at once make each step once, since it is locked and has a number.
 */
export class BulkActions {
  private running: Promise<void> | null = null;
  private stopped = false;
  /** This process has the sweeper's lease, which may change while it works. */
  private hasLease = false;
  private readonly context: BulkContext;
  /** Bulk actions whose last step failed, each logged once. */
  private readonly failing = new Set<string>();

  constructor(private readonly options: ChangingDeps) {
    this.context = changing(options);
  }

  /**
   * Begins to make the steps that are due, unless that is being done. Without the sweeper's lease
   * those that are hidden from older programs: the process that has it may be of one, or not have
   * the handler whose payloads change.
   */
  begin(counts: Pick<SweepCounts, 'bulkTasks'>, hasLease = true): void {
    if (this.stopped) return;
    this.hasLease = hasLease;
    this.running ??= this.work(counts)
      .catch((err: unknown) => this.options.log.warn({ err }, 'sweeper: bulk actions were not looked for'))
      .finally(() => (this.running = null));
  }

  /** Waits for the step that is being made. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  private async work(counts: Pick<SweepCounts, 'bulkTasks'>): Promise<void> {
    while (!this.stopped) {
      const startedAt = performance.now();
      const { handlers } = this.options;
      const step = await makeBulkStep(this.context, { handlers, onlyHidden: !this.hasLease });
      if (step === null) return;
      counts.bulkTasks += step.done;
      this.note(step.id, step.failure);
      await sleep(Math.min(LONGEST_REST_MS, performance.now() - startedAt));
    }
  }

  private note(id: string, failure: unknown): void {
    if (failure === null) this.failing.delete(id);
    else if (!this.failing.has(id)) {
      this.options.log.warn({ err: failure, bulk: id }, 'sweeper: a step of a bulk action failed; trying again');
      this.failing.add(id);
    }
  }
}
