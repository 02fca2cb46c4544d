import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { Logger } from 'pino';
import { timerProbeStart } from '../../workflows/planning/webUi/starts';
import type { Requests } from '../../workflows/temporal/requests';

export interface TimerProbeOptions {
  requests: Requests;
  prefix: string;
}

/**
 * The timer that is measured, and which delay counts as late: servers look at their timers every 10
 * ms, or every second.
 */
const DELAY_MS = 100;
const COARSE_MS = 400;
/** How often a server with coarse timers looks at them, if its configuration does not say else. */
const LOOKS_EVERY_MS = 1_000;
/**
 * The first timer may be on time by chance: a server that looks once per second may look just then.
 * The other timers start right after such a look.
 */
const TIMES = 3;
const PROBE_DEADLINE_MS = 10_000;
const LOOK_MS = 25;

/** What follows of coarse timers, and what to do. */
export const COARSE_TIMERS =
  'Workers end lingers and quiet periods under a second in time, at one signal each; longer ones end up to a ' +
  "second late. Set history.timerProcessorMaxTimeShift to 10ms in the server's dynamic configuration. On Temporal " +
  'Cloud it is fixed at 1 s.';

/** How late a server fires short timers. */
export interface MeasuredTimers {
  delayMs: number;
  tookMs: number;
  /** How late it may fire any timer: a server that looks once per second, up to that. */
  lateMs: number;
  /** Lingers under a second cannot be kept by the server alone. */
  isCoarse: boolean;
}

/**
 * Measures how late the server fires a short timer; null: another process is measuring. Starts a
 * workflow that no worker serves with a delay, reads from its history when the delay ended, and
 * terminates it: two actions, up to six where the server is late.
 */
export const measureTimers = async (options: TimerProbeOptions): Promise<MeasuredTimers | null> => {
  let tookMs = Infinity;
  for (let i = 0; i < TIMES; i++) {
    const ms = await measureTimer(options);
    if (ms === null) return null;
    // The first may be late because the server began to work for this worker just now.
    if (i > 0) tookMs = Math.min(tookMs, ms);
    if (tookMs < COARSE_MS)
      return { delayMs: DELAY_MS, tookMs, lateMs: Math.max(0, tookMs - DELAY_MS), isCoarse: false };
  }
  return { delayMs: DELAY_MS, tookMs, lateMs: Math.max(LOOKS_EVERY_MS, tookMs - DELAY_MS), isCoarse: true };
};

/** Says whether timers that may be so late cannot keep lingers under a second. */
export const isCoarse = (lateMs: number): boolean => lateMs >= COARSE_MS - DELAY_MS;

interface WarnOptions extends TimerProbeOptions {
  log: Logger;
  /** Returns what other workers have measured; null: none has yet. */
  known(): Promise<number | null>;
  /** Notes how late they are, for alarms, and for `explain` where this worker measured it. */
  note(lateMs: number, isMeasured: boolean): Promise<void>;
  /** Aborted when the worker stops. */
  signal: AbortSignal;
}

/** Rests before a worker looks again, if another was measuring, and if it failed. */
const AGAIN_MS = 3_000;
const AFTER_FAILURE_MS = 30_000;

/**
 * Measures the timers once, at the start of a worker, notes how late they are, and warns where
 * lingers and quiet periods under a second need alarms. While another worker measures, what others
 * have found will do: many that start at once need not wait for each other. Never throws.
 */
export const warnOfCoarseTimers = async ({ log, known, note, signal, ...options }: WarnOptions): Promise<void> => {
  while (!signal.aborted) {
    let restMs = AGAIN_MS;
    try {
      const measured = await measureTimers(options);
      if (measured !== null) {
        if (measured.isCoarse) warn(log, measured);
        return await note(measured.lateMs, true);
      }
      const lateMs = await known();
      if (lateMs !== null) await note(lateMs, false);
    } catch (error) {
      log.debug({ err: error }, 'the delay of timers could not be measured');
      restMs = AFTER_FAILURE_MS;
    }
    await sleep(restMs, undefined, { ref: false, signal }).catch(() => undefined);
  }
};

const warn = (log: Logger, { delayMs, tookMs }: MeasuredTimers): void =>
  log.warn(
    { delayMs, tookMs },
    `Temporal fires timers late: a timer of ${delayMs} ms took ${tookMs} ms. ${COARSE_TIMERS}`,
  );

/**
 * Measures how long the server took for a delay of `DELAY_MS`, by its own clock; null: another
 * worker is measuring.
 */
const measureTimer = async ({ requests, prefix }: TimerProbeOptions): Promise<number | null> => {
  const { temporal } = requests;
  const inTime = <T>(work: () => Promise<T>): Promise<T> => temporal.withDeadline(Date.now() + PROBE_DEADLINE_MS, work);
  const name = `${prefix}/timer-probe`;
  const options = {
    workflowId: name,
    taskQueue: name,
    startDelay: DELAY_MS,
    workflowRunTimeout: 3 * PROBE_DEADLINE_MS,
    ...timerProbeStart(),
  };
  const start = (): Promise<WorkflowHandle> =>
    requests.send({ kind: 'timerProbe' }, ({ workflow }) => workflow.start('timerProbe', options), PROBE_DEADLINE_MS);
  const end = (run: WorkflowHandle): Promise<unknown> =>
    requests.send({ kind: 'terminate' }, () => run.terminate('measured'), PROBE_DEADLINE_MS);
  try {
    const handle = await start();
    try {
      const until = performance.now() + PROBE_DEADLINE_MS;
      while (performance.now() < until) {
        const { events } = await inTime(() => handle.fetchHistory());
        const started = events?.find((event) => event.workflowExecutionStartedEventAttributes != null);
        const due = events?.find((event) => event.workflowTaskScheduledEventAttributes != null);
        if (started !== undefined && due !== undefined) return unixMs(due.eventTime) - unixMs(started.eventTime);
        await sleep(LOOK_MS);
      }
      return PROBE_DEADLINE_MS;
    } finally {
      await end(handle).catch(() => undefined);
    }
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return null;
    throw error;
  }
};

const unixMs = (time: { seconds?: unknown; nanos?: number | null } | null | undefined): number =>
  Number(time?.seconds ?? 0) * 1_000 + Math.round((time?.nanos ?? 0) / 1e6);
