import { useMemo } from 'preact/hooks';
import type { HourPage } from '../../../workflows/contracts/dashboard';
import type { Hour } from '../../../workflows/planning/outcomes/hour';
import { HOUR_MINUTES } from '../../../workflows/planning/outcomes/hour';
import { useLive } from '../api/live';
import { number } from '../model/format';
import type { Figures } from '../model/outcomes';
import { figuresOf } from '../model/outcomes';

const SIZE = { width: 120, height: 22 };
const EVERY_MS = 10_000;

/** What became of tasks in the last hour, and what is done now, of a handler. */
export interface Lately {
  hour: Hour;
  figures: Figures;
}

/** Reads it, by handler; null: not read yet. One that did nothing for an hour is not there. */
export const useLately = (): ReadonlyMap<string, Lately> | null => {
  const { data } = useLive<HourPage>('/dashboard/hour', EVERY_MS);
  return useMemo(
    () => data && new Map(data.handlers.map((one) => [one.handler, { hour: one, figures: figuresOf(one) }])),
    [data],
  );
};

const pathOf = (values: readonly number[], most: number): string =>
  values
    .map((value, i) => {
      const x = (i / (HOUR_MINUTES - 1)) * SIZE.width;
      const y = SIZE.height - 1 - (value / most) * (SIZE.height - 2);
      return `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join('');

/** An hour of a handler as a line per outcome. */
export const Spark = ({ hour }: { hour: Hour | undefined }) => {
  if (hour === undefined) return <span class="none">–</span>;
  const { succeeded, failed } = hour;
  const most = Math.max(1, ...succeeded, ...failed);
  const sum = (values: readonly number[]): string => number(values.reduce((all, n) => all + n, 0));
  const text = `${sum(succeeded)} succeeded, ${sum(failed)} did not; at most ${number(most)} per minute`;
  return (
    <svg class="spark" viewBox={`0 0 ${SIZE.width} ${SIZE.height}`} role="img" aria-label={text}>
      <title>{text}</title>
      <path d={pathOf(succeeded, most)} />
      <path class="failed" d={pathOf(failed, most)} />
    </svg>
  );
};
