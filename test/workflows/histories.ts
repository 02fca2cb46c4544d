import type { temporal } from '@temporalio/proto';

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/**
 * Counts the Temporal actions of one run: start and its signal 1, later signals 1 each,
 * timers, activities, 1 a workflow task that ran local activities, continue-as-new 1.
 */
export const actionsOf = (events: readonly HistoryEvent[]): number => {
  const count = (has: (event: HistoryEvent) => unknown): number => events.filter((event) => has(event) != null).length;
  const markerTasks = new Set(
    events.flatMap(({ markerRecordedEventAttributes: marker }) =>
      marker == null ? [] : [String(marker.workflowTaskCompletedEventId)],
    ),
  );
  return (
    Math.max(
      1,
      count((event) => event.workflowExecutionSignaledEventAttributes),
    ) +
    count((event) => event.timerStartedEventAttributes) +
    count((event) => event.activityTaskScheduledEventAttributes) +
    markerTasks.size +
    count((event) => event.workflowExecutionContinuedAsNewEventAttributes)
  );
};

/**
 * How often each type of event is there, by the enum's number in words where the tests ask for it.
 */
export const countOf = (events: readonly HistoryEvent[], attributes: keyof HistoryEvent): number =>
  events.filter((event) => event[attributes] != null).length;
