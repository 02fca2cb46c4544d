import * as store from '../../postgres/accepted/cancellation';
import { CANCELLATION_CAUSES, CANCELLATION_STATES, cancelAgainMs } from '../../workflows/planning/calls/cancellation';
import { BATCH_STATES } from '../../workflows/planning/states';
import { sealError } from '../codec/sealed';
import type { ActivityDeps } from '../deps';
import { boundLog } from '../../handlers/logging/boundLog';
import { cancelReference } from '../../handlers';
import type { Handler } from '../../handlers/types';
import { TICK_MS } from '../tick';

/** Maximum concurrent calls. */
const CALLS_AT_ONCE = 8;
/**
 * Time beyond the handler's own timeout: a call without an answer by then may be repeated by
 * another process.
 */
const LEASE_MARGIN_MS = 5_000;

type CancelDeps = Pick<ActivityDeps, 'pool' | 'draining' | 'log' | 'sealer'>;

/**
 * Asks a handler's downstream, at least once per batch, to stop the accepted batches that were
 * given up, while the monitor polls the others. An unanswered call stays in the store, and the next
 * process that looks repeats it.
 */
export class Cancellations {
  private ending = false;
  private wake: () => void = () => undefined;

  constructor(
    private readonly deps: CancelDeps,
    private readonly handler: Handler,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Works until `end` was called and nothing is due; returns in how many ms the next call is due,
   * null: there is none.
   */
  async run(): Promise<number | null> {
    const { pool } = this.deps;
    for (;;) {
      const leaseMs = this.handler.timeoutMs + LEASE_MARGIN_MS;
      const due = this.isStopping()
        ? []
        : await store.takeDueCancellations(pool, this.handler.name, CALLS_AT_ONCE, leaseMs);
      if (due.length > 0) await Promise.all(due.map((one) => this.conclude(one)));
      else if (this.ending || this.isStopping()) return store.nextCancellationInMs(pool, this.handler.name);
      else await this.tick();
    }
  }

  end(): void {
    this.ending = true;
    this.wake();
  }

  private isStopping(): boolean {
    return this.signal.aborted || this.deps.draining.aborted;
  }

  private async tick(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      timer = setTimeout(resolve, TICK_MS);
    });
    clearTimeout(timer);
  }

  private async conclude(one: store.TakenCancellation): Promise<void> {
    const { pool, log } = this.deps;
    const byCaller = one.cause === CANCELLATION_CAUSES.caller;
    const end = (state: keyof typeof CANCELLATION_STATES, error: string | null = null): Promise<void> =>
      store.endCancellation(pool, one, CANCELLATION_STATES[state], error);
    if (byCaller && one.batchState !== BATCH_STATES.open && one.batchState !== BATCH_STATES.unknown)
      return end('late', 'the batch had ended before the downstream was asked');
    if (!byCaller && one.awaited) return end('withdrawn');
    const ofBatch = boundLog(log, { handler: this.handler.name, batch: one.batchId });
    const bounds = { signal: this.signal, log: ofBatch };
    const answer = await cancelReference(this.handler, one.reference, bounds);
    const outcome = 'error' in answer ? { ...answer, error: await sealError(this.deps.sealer, answer.error) } : answer;
    switch (outcome.kind) {
      case 'confirmed':
      case 'unsupported':
        return end(outcome.kind);
      case 'late':
      case 'refused':
        log.info({ batch: one.batchId, ...outcome }, 'the downstream did not cancel a batch');
        return end(outcome.kind, outcome.error);
      case 'unanswered': {
        // Lets the next process call immediately; the answer to this call, if any, is lost.
        const inMs = this.isStopping() ? 0 : Math.max(cancelAgainMs(one.tries), outcome.retryAfterMs ?? 0);
        if (inMs > 0)
          log.warn(
            { batch: one.batchId, error: outcome.error, tries: one.tries },
            'a batch could not be cancelled yet',
          );
        return store.putOffCancellation(pool, one, inMs, outcome.error);
      }
    }
  }
}
