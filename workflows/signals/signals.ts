import { isCancellation, log, sleep, workflowInfo } from '@temporalio/workflow';
import type { SideWork } from '../loops/lookLoop';
import type { UnreadRun } from '../planning/unread';
import { unreadOf } from '../planning/unread';
import { signalReader } from './signalReader';

/**
 * Takes completions that arrive as signals. They are only counted here, and an activity reads them
 * from the history, so that they are not written to a history twice. A large run may continue as
 * new even with completions unread: the next run knows where they are.
 */
export class Signals implements SideWork {
  private came = 0;
  private unread: UnreadRun[];
  private isReading = false;
  private isStopping = false;

  /** `carried` is the input of the run, which anyone may have started. */
  constructor(
    private readonly handler: string,
    carried: unknown,
  ) {
    this.unread = unreadOf(carried);
    if (this.unread.length > 0) void this.read();
  }

  /** Counts one more signal. */
  add(): void {
    this.came++;
    if (!this.isReading && !this.isStopping) void this.read();
  }

  isAtRest(): boolean {
    return !this.isReading && !this.isBehind();
  }

  /** Starts no further read. */
  stop(): void {
    this.isStopping = true;
  }

  mayContinueAsNew(isFull: boolean): boolean {
    return isFull || !this.isReading;
  }

  /** Returns what the next run has to read. */
  carried(): UnreadRun[] {
    const own = this.own();
    return this.came > own.taken ? [...this.earlier(), own] : this.earlier();
  }

  private earlier(): UnreadRun[] {
    const { runId } = workflowInfo();
    return this.unread.filter((run) => run.runId !== runId);
  }

  private own(): UnreadRun {
    const { runId } = workflowInfo();
    return this.unread.find((run) => run.runId === runId) ?? { runId, taken: 0 };
  }

  private isBehind(): boolean {
    return this.carried().length > 0;
  }

  private async read(): Promise<void> {
    this.isReading = true;
    await Promise.resolve(); // signals of the same workflow task are read together
    while (this.isBehind() && !this.isStopping) await this.readOnce();
    this.isReading = false;
  }

  private async readOnce(): Promise<void> {
    const { handler } = this;
    const { runId } = workflowInfo();
    // Workers that serve the handler may be down: signals are kept until they are back.
    const { takeSignalled } = signalReader(handler);
    try {
      const running = { runId, wanted: this.came };
      this.unread = unreadOf(await takeSignalled({ handler, unread: [...this.earlier(), this.own()], running }));
    } catch (error) {
      if (isCancellation(error)) return this.stop(); // the run ends; the sweeper has the rest read
      log.warn('completions by signal could not be read; trying again', { error: String(error) });
      await sleep('1 minute', { summary: 'then reads them again' });
    }
  }
}
