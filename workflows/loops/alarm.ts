import type { Sinks } from '@temporalio/workflow';
import { proxySinks, workflowInfo } from '@temporalio/workflow';

/**
 * Tells the worker that has a run in memory how long it waits. The worker ends the wait by its own
 * clock where the server looks at its timers once per second and the wait is shorter, and where the
 * timer is much too late. The durable timer stays behind it. Writes nothing into the history, and
 * is silent in a replay.
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

/** Tells the worker of a wait of `ms` that is about to begin. */
export const setAlarm = (ms: number, handler: string | null): void => {
  if (!workflowInfo().unsafe.isReplaying) alarm.set(ms, handler);
};

/** Takes that back once the wait has ended. */
export const clearAlarm = (): void => {
  if (!workflowInfo().unsafe.isReplaying) alarm.clear();
};
