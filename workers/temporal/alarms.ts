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
 * Wakes runs of this process at the end of waits that are too short for the server's timers, by a
 * signal each. A signal that fails is not repeated: the run has its timer.
 */
export class Alarms {
  readonly sinks: InjectedSinks<AlarmSinks> = {
    alarm: {
      set: { fn: (run, ms, handler) => this.set(run, ms, handler), callDuringReplay: false },
      clear: { fn: (run) => this.clear(run), callDuringReplay: false },
    },
  };
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private isNeeded = false;

  constructor(
    private readonly requests: Requests,
    private readonly log: Pick<Logger, 'debug'>,
  ) {}

  /** Sets alarms from now on, if timers of the server may be so late that short waits need them. */
  noteTimers(lateMs: number): void {
    this.isNeeded = isCoarse(lateMs);
  }

  /** Sets no more alarms, and forgets those that are set. */
  stop(): void {
    this.isNeeded = false;
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
  }

  private set(run: Run, ms: number, handler: string | null): void {
    this.clear(run);
    if (!this.isNeeded) return;
    const timer = setTimeout(() => void this.ring(run, timer, handler), ms).unref();
    this.timers.set(run.runId, timer);
  }

  private clear({ runId }: Run): void {
    clearTimeout(this.timers.get(runId));
    this.timers.delete(runId);
  }

  /**
   * Sends the signal, unless its turn comes after the wait has ended: it would cut the next one
   * short. After a second the server's timer has fired.
   */
  private async ring({ workflowId, runId }: Run, timer: NodeJS.Timeout, handler: string | null): Promise<void> {
    const isSet = (): boolean => this.timers.get(runId) === timer;
    try {
      const of = { kind: 'alarm', handler: handler ?? undefined } as const;
      await this.requests.send(
        of,
        async ({ workflow }) => {
          if (isSet()) await workflow.getHandle(workflowId, runId).signal(lookSignal);
        },
        SHORT_WAIT_MS,
      );
    } catch (error) {
      this.log.debug({ err: error, workflowId, runId }, 'a run was not woken in time; its timer wakes it');
    }
    if (isSet()) this.timers.delete(runId);
  }
}
