import type { CountedEnd } from './kinds';

/** Minutes of which the ends are drawn. */
export const HOUR_MINUTES = 60;

/** Ends of tasks in each minute of an hour, the last one at its end. */
export interface Hour {
  succeeded: number[];
  failed: number[];
}

/** Sorts ends of one handler into the minutes of the hour before a time. */
export const hourOf = (
  atMs: number,
  minutes: readonly { minute: string; ends: Readonly<Record<CountedEnd, number>> }[],
): Hour => {
  const none = (): number[] => Array<number>(HOUR_MINUTES).fill(0);
  const hour = { succeeded: none(), failed: none() };
  const minuteOf = (ms: number): number => Math.floor(ms / 60_000);
  for (const { minute, ends } of minutes) {
    const place = HOUR_MINUTES - 1 - (minuteOf(atMs) - minuteOf(Date.parse(minute)));
    if (place < 0 || place >= HOUR_MINUTES) continue;
    hour.succeeded[place]! += ends.succeeded;
    hour.failed[place]! += ends.failed + ends.dead + ends.unknown;
  }
  return hour;
};
