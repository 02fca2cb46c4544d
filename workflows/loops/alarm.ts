import type { Sinks } from '@temporalio/workflow';
import { proxySinks, workflowInfo } from '@temporalio/workflow';

/**
 * Ends short waits of a run by the clock of the worker that has it in memory, since some servers
 * look at their timers once per second. The durable timer stays behind it. Writes nothing into the
 * history, and is silent in a replay.
 */
export interface AlarmSinks extends Sinks {
  alarm: {
    /** Sets the run's alarm. `handler`: by which its signal is counted; null: by none. */
    set(ms: number, handler: string | null): void;
    clear(): void;
  };
}

/** A server that looks at its timers once per second ends a shorter wait after about that time. */
export const SHORT_WAIT_MS = 1_000;

const { alarm } = proxySinks<AlarmSinks>();
const isCalledFor = (ms: number): boolean => ms < SHORT_WAIT_MS && !workflowInfo().unsafe.isReplaying;

/** Lets the worker end a wait of `ms` that is about to begin, if it is short. */
export const setAlarm = (ms: number, handler: string | null): void => {
  if (isCalledFor(ms)) alarm.set(ms, handler);
};

/** Takes that back once the wait has ended. */
export const clearAlarm = (ms: number): void => {
  if (isCalledFor(ms)) alarm.clear();
};
