import type { InjectedSinks } from '@temporalio/worker';
import type { Logger } from 'pino';
import { lookSignal } from '../../workflows/definitions';
import type { AlarmSinks } from '../../workflows/loops/alarm';
import { SHORT_WAIT_MS } from '../../workflows/loops/alarm';
import type { Requests } from '../../workflows/temporal/requests';
import { isCoarse } from './timerProbe';

interface Run {
  workflowId: string;
  runId: string;
}

/**
 * A timer that is so late has been lost, or the server is far behind: one that looks at its timers
 * once per second has looked.
 */
const LATE_MS = 1_500;
/** Longer waits have no alarm: the sweeper wakes what stays silent. */
const LONGEST_ALARM_MS = 3_600_000;
/** For how long the signal in place of a late timer may wait for its turn. */
const SEND_WITHIN_MS = 5_000;
/** By so much an alarm itself is late in a process that was stopped, or has no time. */
const BEHIND_MS = 500;
const WARN_EVERY_MS = 60_000;

/**
 * Wakes runs of this process, by a signal each: at the end of waits that are too short for the
 * server's timers, and where a timer of the server is much too late. A signal that fails is not
 * repeated: the run has its timer, and the sweeper.
 */
export class Alarms {
  readonly sinks: InjectedSinks<AlarmSinks> = {
    alarm: {
      set: { fn: (run, ms, handler) => this.set(run, ms, handler), callDuringReplay: false },
      clear: { fn: (run) => this.clear(run), callDuringReplay: false },
    },
  };
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private endsShortWaits = false;
  private isStopped = false;
  private warnedAt = -Infinity;

  constructor(
    private readonly requests: Requests,
    private readonly log: Pick<Logger, 'debug' | 'warn'>,
  ) {}

  /** Ends short waits in time from now on, if timers of the server may be too late for them. */
  noteTimers(lateMs: number): void {
    this.endsShortWaits = isCoarse(lateMs);
  }

  /** Sets no more alarms, and forgets those that are set. */
  stop(): void {
    this.isStopped = true;
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
  }

  private set(run: Run, ms: number, handler: string | null): void {
    this.clear(run);
    if (this.isStopped || ms > LONGEST_ALARM_MS) return;
    if (this.endsShortWaits && ms < SHORT_WAIT_MS)
      this.start(run, ms, (timer) => this.ring(run, timer, handler, SHORT_WAIT_MS));
    else this.setLate(run, ms + LATE_MS, handler);
  }

  /**
   * Sets the alarm that stands in for a late timer. If this process is behind, too, the timer may
   * have fired, and its workflow task waits here: that gets its time first.
   */
  private setLate(run: Run, afterMs: number, handler: string | null): void {
    const dueAt = performance.now() + afterMs;
    this.start(run, afterMs, (timer) => {
      if (performance.now() - dueAt > BEHIND_MS) return this.setLate(run, LATE_MS, handler);
      this.warn(run);
      return this.ring(run, timer, handler, SEND_WITHIN_MS);
    });
  }

  private start({ runId }: Run, ms: number, ring: (timer: NodeJS.Timeout) => unknown): void {
    const timer = setTimeout(() => void ring(timer), ms).unref();
    this.timers.set(runId, timer);
  }

  private clear({ runId }: Run): void {
    clearTimeout(this.timers.get(runId));
    this.timers.delete(runId);
  }

  /**
   * Sends the signal, unless its turn comes after the wait has ended: it would cut the next one
   * short. After a second the server's timer has fired that ends a short wait.
   */
  private async ring(
    { workflowId, runId }: Run,
    timer: NodeJS.Timeout,
    handler: string | null,
    sendWithinMs: number,
  ): Promise<void> {
    const isSet = (): boolean => this.timers.get(runId) === timer;
    try {
      const of = { kind: 'alarm', handler: handler ?? undefined } as const;
      await this.requests.send(
        of,
        async ({ workflow }) => {
          if (isSet()) await workflow.getHandle(workflowId, runId).signal(lookSignal);
        },
        sendWithinMs,
      );
    } catch (error) {
      this.log.debug({ err: error, workflowId, runId }, 'a run was not woken in time; its timer wakes it');
    }
    if (isSet()) this.timers.delete(runId);
  }

  private warn({ workflowId }: Run): void {
    const now = performance.now();
    if (now - this.warnedAt < WARN_EVERY_MS) return;
    this.warnedAt = now;
    this.log.warn(
      { workflowId, lateMs: LATE_MS },
      "a timer of Temporal's server is late, so this worker wakes its run; others are not logged for a minute",
    );
  }
}
