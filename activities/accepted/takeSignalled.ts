import { Context } from '@temporalio/activity';
import { concernsStore, isUnavailable } from '../../postgres/errors';
import { completionWorkflowId, monitorWorkflowId } from '../../workflows/naming';
import type { UnreadRun } from '../../workflows/planning/unread';
import { unreadOf } from '../../workflows/planning/unread';
import type { Handler } from '../../handlers/types';
import type { ActivityDeps } from '../deps';
import { completeReported, handlerHere } from './completeSignalled';
import type { SharedRings } from './rings';
import { handOnCompletions } from './handOn';
import { leftUnread, readSignals } from './signalHistory';
import type { Signalled } from './signalHistory';
import { TICK_MS } from '../tick';

/**
 * The runs to read, in order. `wanted`: completions that came to the run `running`, which goes on;
 * null: all have ended.
 */
export interface TakeInput {
  handler: string;
  unread: UnreadRun[];
  running?: { runId: string; wanted: number };
  /** A run that did not end by itself: what it left unread is found out first. */
  ended?: string;
}
export interface TakeAnswer {
  /** What is still to be read, and how far the run that goes on was read. */
  unread: UnreadRun[];
  completed: number;
  repeated: number;
  /** Handed on to separate workflows: refused, or sent too early. */
  handedOn: number;
}

/** Completions of one monitor that are settled at once. */
const SETTLED_AT_ONCE = 8;
/** After this the monitor gets the answer, and may continue as new. */
const SOFT_LIMIT_MS = 2_000;
/** Most bytes of JSON per workflow that completions are handed on to; a larger one goes alone. */
const MOST_BYTES = 500_000;

/**
 * Takes what was signalled to a handler's monitor from the histories of its runs into the store:
 * the monitor itself only counts. So no completion goes through its history twice, the monitor may
 * continue as new at any time, and what a terminated run leaves is read the same way. Each
 * completion counts once, so reading it a second time changes nothing.
 */
export const takeSignalled = async (deps: ActivityDeps, input: TakeInput): Promise<TakeAnswer> => {
  const handler = handlerHere(deps, input.handler);
  const { info, cancellationSignal } = Context.current();
  const known = unreadOf({ unread: info.heartbeatDetails as unknown });
  const workflowId = monitorWorkflowId(deps.prefix, input.handler);
  let reading: Reading | null = null;
  // Begins before the first page: a run that has ended may have many.
  const ticker = setInterval(() => Context.current().heartbeat(reading?.unread ?? known), TICK_MS);
  const isCalledOff = (): boolean => cancellationSignal.aborted || deps.draining.aborted;
  try {
    const isKnown = known.length > 0 || input.ended === undefined;
    const found = isKnown ? input.unread : await leftUnread(deps.temporal, workflowId, input.ended!);
    const begun = new Reading(deps, handler, workflowId, known.length > 0 ? known : found);
    reading = begun;
    await begun.run(input.running, () => isCalledOff() || begun.tookMs() > SOFT_LIMIT_MS);
    const { unread, completed, repeated, handedOn } = begun;
    return { unread, completed, repeated, handedOn };
  } finally {
    await reading?.rung();
    clearInterval(ticker);
  }
};

class Reading {
  completed = 0;
  repeated = 0;
  handedOn = 0;
  private begunAt: number | null = null;
  private readonly rings: SharedRings;

  constructor(
    private readonly deps: ActivityDeps,
    private readonly handler: Handler,
    private readonly workflowId: string,
    public unread: UnreadRun[],
  ) {
    this.rings = deps.completionRings.of(handler.name);
  }

  /** Time since the first one was taken: however long it takes to find it, something is taken. */
  tookMs(): number {
    return this.begunAt === null ? 0 : performance.now() - this.begunAt;
  }

  /** Waits until everything that waited for taken completions was rung. */
  async rung(): Promise<void> {
    await this.rings.idle();
  }

  async run(running: TakeInput['running'], isOver: () => boolean): Promise<void> {
    for (const run of this.unread) {
      const goesOn = running?.runId === run.runId;
      if (!(await this.read(run, goesOn ? running.wanted : null, isOver))) return;
      if (!goesOn) this.unread = this.unread.filter(({ runId }) => runId !== run.runId);
    }
  }

  /** Reads a run; false: it was broken off. */
  private async read(run: UnreadRun, wanted: number | null, isOver: () => boolean): Promise<boolean> {
    let { taken } = run;
    for await (const { signals, at, seen, next } of readSignals(this.deps.temporal, this.workflowId, run, wanted)) {
      while (signals.length > 0) {
        if (isOver()) return false;
        taken += await this.take(run.runId, signals);
        this.note({ runId: run.runId, taken, ...(at === undefined ? {} : { at }) });
      }
      taken = Math.max(taken, seen);
      const from = next ?? at;
      this.note({ runId: run.runId, taken, ...(from === undefined ? {} : { at: from }) });
    }
    return true;
  }

  private note(run: UnreadRun): void {
    this.unread = this.unread.map((one) => (one.runId === run.runId ? run : one));
  }

  /** Removes some from the list and takes them at once; returns how many. */
  private async take(runId: string, signals: Signalled[]): Promise<number> {
    this.begunAt ??= performance.now();
    const some = signals.splice(0, SETTLED_AT_ONCE);
    const ends = await Promise.allSettled(some.map((one) => this.complete(one)));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    await this.handOn(
      runId,
      some.filter((_, i) => (ends[i] as PromiseFulfilledResult<boolean>).value),
    );
    return some.length;
  }

  /**
   * Takes one completion; true: hand it on, to be tried again later or to be refused where its
   * sender can see it. Others are taken after one that met a lock or took too long.
   */
  private async complete({ told, eventId }: Signalled): Promise<boolean> {
    try {
      const end = await completeReported(this.deps, this.handler, told);
      if (end.kind !== 'completed') return true;
      if (end.repeated) this.repeated++;
      else this.completed++;
      this.rings.addBehind(end.rings);
      return false;
    } catch (err) {
      if (isUnavailable(err) || concernsStore(err)) throw err; // for all of them
      this.deps.log.warn(
        { err, handler: this.handler.name, eventId },
        'a completion by signal failed: it is tried again by itself',
      );
      return true;
    }
  }

  private async handOn(runId: string, signals: readonly Signalled[]): Promise<void> {
    for (const group of grouped(signals)) {
      const id = completionWorkflowId(
        this.deps.prefix,
        this.handler.name,
        `${runId}-${group[0]!.eventId}-${group.length}`,
      );
      await handOnCompletions(this.deps, { handler: this.handler.name, id, told: group.map(({ told }) => told) });
      this.handedOn += group.length;
    }
  }
}

const grouped = (signals: readonly Signalled[]): Signalled[][] => {
  const groups: Signalled[][] = [];
  let bytes = 0;
  for (const one of signals) {
    const size = (JSON.stringify(one.told) ?? '').length;
    const last = groups.at(-1);
    if (last === undefined || bytes + size > MOST_BYTES) {
      groups.push([one]);
      bytes = size;
    } else {
      last.push(one);
      bytes += size;
    }
  }
  return groups;
};
