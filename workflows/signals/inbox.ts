import { proxyLocalActivities, workflowInfo } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import { MAX_BACKOFF } from '../loops/backOff';
import type { CompletionSignal } from '../definitions';
import type { SideWork } from '../loops/lookLoop';
import { completionWorkflowId } from '../naming';

/** Most completions, and bytes of JSON, per workflow; a larger completion goes alone. */
const MOST = 20;
const MOST_BYTES = 500_000;
const AT_ONCE = 4;

/**
 * Idempotent: the id is made here. A local activity, since its input goes to no server: many large
 * completions in one workflow task would make its answer larger than a server takes.
 */
const { handOnCompletions } = proxyLocalActivities<Activities>({
  startToCloseTimeout: '30s',
  retry: { initialInterval: '200ms', maximumInterval: MAX_BACKOFF },
  summary: 'completions handed on',
});

/**
 * Hands on completions that came by signal, small ones together: no part of them stays in this run,
 * which may then end.
 */
export class Inbox implements SideWork {
  private readonly waiting: { told: CompletionSignal; bytes: number }[] = [];
  private running = 0;
  private handedOn = 0;

  constructor(private readonly handler: string) {}

  add(told: CompletionSignal): void {
    this.waiting.push({ told, bytes: (JSON.stringify(told) ?? '').length });
    if (this.running < AT_ONCE) void this.work();
  }

  isAtRest(): boolean {
    return this.running === 0 && this.waiting.length === 0;
  }

  private async work(): Promise<void> {
    this.running++;
    await Promise.resolve(); // those that came in the same workflow task go together
    const { handler } = this;
    const { taskQueue, runId } = workflowInfo();
    for (let told = this.take(); told.length > 0; told = this.take()) {
      // Named by its content: a workflow task that failed is repeated with more signals, which are
      // then grouped differently.
      const id = completionWorkflowId(taskQueue, handler, `${runId}-${this.handedOn}-${told.length}`);
      this.handedOn += told.length;
      await handOnCompletions({ handler, id, told });
    }
    this.running--;
  }

  private take(): CompletionSignal[] {
    let bytes = 0;
    let n = 0;
    while (n < this.waiting.length && n < MOST && (n === 0 || bytes + this.waiting[n]!.bytes <= MOST_BYTES))
      bytes += this.waiting[n++]!.bytes;
    return this.waiting.splice(0, n).map(({ told }) => told);
  }
}
