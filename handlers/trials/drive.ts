import { decideSettlement } from '../../workflows/planning/calls/settlement';
import type { CallOutcome, MemberEnd, Settlement, SettlementContext } from '../../workflows/planning/calls/plans';
import { SILENT_LOG } from '../logging/boundLog';
import { callHandler } from '../call';
import type { BatchTask } from '../contract';
import { pollReferences, readReference } from '../poll';
import { reconcileOutcome } from '../reconcile';
import type { Handler } from '../types';

/** How a task has ended. `held`: the handler was paused. `open`: the case took too many calls. */
export type End = 'succeeded' | 'failed' | 'dead' | 'unknown' | 'held' | 'open';

export interface Driven {
  /** Of each task, by its id. */
  readonly ends: Map<string, End>;
  /** Of each call, in order; of an accepted one, what became of it in the end. */
  readonly outcomes: CallOutcome[];
  /** The waits that were decided after back pressure and failures, in milliseconds. */
  readonly waits: number[];
  /** How long the first call took, in milliseconds. */
  readonly firstMs: number;
}

export interface DriveOptions {
  /** Milliseconds after which a call is aborted; the handler's own limit counts too. */
  readonly timeoutMs: number;
  /** Beginning of the keys of its batches: equal ones are the same batches. */
  readonly key: string;
  /** Most calls; default `CALLS_MAX`. */
  readonly callsMax?: number;
  /** Cancels the first call after so many milliseconds, as a worker that stops does. */
  readonly cancelMs?: number;
}

interface Pair {
  refused: number;
  others: number;
}
interface Work {
  readonly tasks: readonly BatchTask[];
  readonly key: string;
  readonly depth: number;
  /** The two halves of a first split. */
  readonly pair?: Pair;
  readonly refusals: number;
  readonly isAwaiting?: string;
}

/** More calls than any case needs: a handler that is still going then goes in a circle. */
const CALLS_MAX = 120;
const POLLS_MAX = 20;
const ASK_AGAIN_MS = 20;

/**
 * Takes one batch to its end as the workers do, with the decisions of the planners: sends it again,
 * halves it, looks it up, polls it, parks it. It waits for no backoff.
 */
export class Drive {
  private readonly ends = new Map<string, End>();
  private readonly outcomes: CallOutcome[] = [];
  private readonly waits: number[] = [];
  private readonly work: Work[] = [];
  private firstMs = 0;
  private batches = 0;

  constructor(
    private readonly handler: Handler,
    private readonly options: DriveOptions,
  ) {}

  async run(tasks: readonly BatchTask[]): Promise<Driven> {
    for (const { id } of tasks) this.ends.set(id, 'open');
    this.work.push(this.newWork(tasks));
    for (let calls = 0; calls < (this.options.callsMax ?? CALLS_MAX); calls++) {
      const next = this.work.shift();
      if (next === undefined) break;
      await this.take(next);
    }
    const { ends, outcomes, waits, firstMs } = this;
    return { ends, outcomes, waits, firstMs };
  }

  private newWork(tasks: readonly BatchTask[], depth = 0, pair?: Pair): Work {
    return { tasks, key: `${this.options.key}-${++this.batches}`, depth, pair, refusals: 0 };
  }

  private async take(work: Work): Promise<void> {
    const outcome: CallOutcome =
      work.isAwaiting === undefined ? await this.call(work) : { kind: 'rejected', error: work.isAwaiting };
    const attempts = work.tasks.map((task) => task.attempts);
    this.apply(decideSettlement(outcome, this.context(work, attempts)), work, outcome);
  }

  private context({ depth, pair, refusals }: Work, attempts: readonly number[]): SettlementContext {
    const { idempotency, onUnknown, bisect, retry } = this.handler;
    const sibling = pair === undefined ? null : pair.others > 0 ? 'other' : pair.refused > 0 ? 'refused' : 'pending';
    return {
      attempts,
      maxAttempts: retry.maxAttempts,
      idempotency,
      onUnknown,
      canReconcile: this.handler.reconcile !== undefined,
      bisect,
      delayed: retry.delayed,
      inPlace: retry.inPlace,
      sibling: depth === 1 ? sibling : null,
      refusals,
      ageMs: 0,
      random: () => 1,
    };
  }

  private async call(work: Work): Promise<CallOutcome> {
    const isFirst = this.outcomes.length === 0;
    const stop = new AbortController();
    const { cancelMs, timeoutMs } = this.options;
    const timer = isFirst && cancelMs !== undefined ? setTimeout(() => stop.abort(), cancelMs) : undefined;
    const batch = this.batchOf(work);
    const context = {
      signal: stop.signal,
      idempotencyKey: work.key,
      deadline: Date.now() + timeoutMs,
      log: SILENT_LOG,
    };
    const begun = performance.now();
    const sink = { add: () => undefined };
    const called = await callHandler(this.handler, batch, context, sink);
    if (isFirst) this.firstMs = performance.now() - begun;
    clearTimeout(timer);
    let outcome = called;
    if (outcome.kind === 'unknown') outcome = await this.lookUp(work, outcome);
    if (outcome.kind === 'accepted') outcome = await this.follow(work, outcome.reference);
    this.outcomes.push(called.kind === 'accepted' ? outcome : called);
    return outcome;
  }

  private batchOf({ tasks }: Work) {
    const { handler } = this;
    const target = handler.target(tasks[0]!.payload);
    return { id: String(this.batches), handler: handler.name, target, tasks, epoch: 1, attempt: 1 };
  }

  /** Looks up an unknown outcome, as long ago as the handler needs to believe it. */
  private async lookUp(work: Work, unknown: CallOutcome): Promise<CallOutcome> {
    if (this.handler.reconcile === undefined) return unknown;
    const bounds = this.bounds();
    const context = { ...bounds, idempotencyKey: work.key };
    const found = await reconcileOutcome(this.handler, this.batchOf(work), context, { add: () => undefined });
    if (found.kind === 'absent') return { kind: 'later', retryAfterMs: 0, scope: 'target', error: 'looked up: absent' };
    return found.kind === 'unsure' ? unknown : found;
  }

  private async follow(work: Work, reference: string): Promise<CallOutcome> {
    for (let polls = 0; polls < POLLS_MAX; polls++) {
      const polled = await pollReferences(this.handler, [reference], this.bounds());
      const { status, error = '' } = polled.kind === 'statuses' ? polled.statuses[0]! : { status: 'pending' };
      if (status === 'failed') return { kind: 'rejected', error };
      if (status === 'lost') return { kind: 'unknown', error };
      if (status === 'done' || status === 'expired') {
        const missing = status === 'expired' ? ({ status: 'retry', error: 'expired' } as const) : undefined;
        const read = await readReference(
          this.handler,
          reference,
          work.tasks,
          this.bounds(),
          { add: () => undefined },
          missing,
        );
        if (read.kind !== 'unread') return read;
      }
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
    return { kind: 'unknown', error: `still pending after ${POLLS_MAX} polls` };
  }

  private bounds() {
    return { signal: new AbortController().signal, deadline: Date.now() + this.options.timeoutMs, log: SILENT_LOG };
  }

  private apply(settlement: Settlement, work: Work, outcome: CallOutcome): void {
    const { tasks, pair } = work;
    if (pair !== undefined && settlement.kind !== 'await-sibling' && outcome.kind === 'results') pair.others++;
    switch (settlement.kind) {
      case 'finish':
        return this.finish(settlement, work);
      case 'wait':
        this.waits.push(settlement.inMs);
        this.work.push({ ...work, refusals: work.refusals + 1 });
        return;
      case 'split': {
        const halves: Pair | undefined = work.depth === 0 ? { refused: 0, others: 0 } : undefined;
        const half = (part: readonly BatchTask[]) => this.newWork(part, work.depth + 1, halves);
        this.work.push(half(tasks.slice(0, settlement.at)), half(tasks.slice(settlement.at)));
        return;
      }
      case 'await-sibling':
        if (pair !== undefined) pair.refused++;
        this.work.push({ ...work, isAwaiting: settlement.error });
        return;
      case 'halt':
        return this.end(tasks, 'held');
      case 'resend':
        this.waits.push(settlement.inMs);
        this.work.push({ ...work, tasks: counted(tasks) });
        return;
      case 'park':
        return this.end(tasks, 'unknown');
      case 'accept':
        throw new Error('Cannot follow an accepted batch twice: expected its outcome, got accepted');
    }
  }

  private finish({ state, ends, unknown }: Extract<Settlement, { kind: 'finish' }>, { tasks }: Work): void {
    const byPlace = new Map(ends.map((end) => [end.index, end]));
    const retried: BatchTask[] = [];
    const unsure: BatchTask[] = [];
    tasks.forEach((task, index) => {
      const end = byPlace.get(index);
      if (end?.to === 'retry') retried.push(task);
      else if (end?.to === 'unknown' && end.parked !== true && unknown === 'resend') unsure.push(task);
      else this.ends.set(task.id, endOf(end, state));
    });
    for (const again of [retried, unsure]) if (again.length > 0) this.work.push(this.newWork(counted(again)));
  }

  private end(tasks: readonly BatchTask[], end: End): void {
    for (const { id } of tasks) this.ends.set(id, end);
  }
}

const counted = (tasks: readonly BatchTask[]): BatchTask[] =>
  tasks.map((task) => ({ ...task, attempts: task.attempts + 1 }));

const endOf = (end: MemberEnd | undefined, state: 'succeeded' | 'failed'): End => {
  if (end === undefined) return state;
  return end.to === 'retry' || end.to === 'cancelled' ? 'open' : end.to;
};
