import { useContext, useMemo } from 'preact/hooks';
import type { OutcomePage } from '../../../workflows/contracts/outcomes';
import { useLive } from '../api/live';
import { seesAll, SessionContext } from '../api/session';
import { number } from '../model/format';
import type { Figures } from '../model/outcomes';
import { figuresAt } from '../model/outcomes';

type Outcomes = Pick<OutcomePage, 'outcomes' | 'at'>;

const MINUTES = 60;
const SIZE = { width: 120, height: 22 };
const EVERY_MS = 10_000;

export type Hour = ReadonlyMap<string, { succeeded: readonly number[]; failed: readonly number[] }>;

/** What became of tasks in each minute of the last hour, and what is done now, by handler. */
export interface Lately {
  hour: Hour;
  figures: ReadonlyMap<string, Figures>;
}

/** Reads it; null: not available. */
export const useLately = (): Lately | null => {
  const session = useContext(SessionContext);
  // Without a handler it is a list of all of them.
  const { data } = useLive<Outcomes>(seesAll(session) ? '/v1/outcomes' : null, EVERY_MS);
  return useMemo(() => data && { hour: hourOf(data), figures: figuresAt(Date.parse(data.at), data.outcomes) }, [data]);
};

/** Sorts outcomes into the minutes of the last hour. */
export const hourOf = ({ outcomes, at }: Outcomes): Hour => {
  const end = Math.floor(Date.parse(at) / 60_000);
  const hour = new Map<string, { succeeded: number[]; failed: number[] }>();
  for (const { handler, minute, ends } of outcomes) {
    const lines = hour.get(handler) ?? {
      succeeded: Array<number>(MINUTES).fill(0),
      failed: Array<number>(MINUTES).fill(0),
    };
    hour.set(handler, lines);
    const place = MINUTES - 1 - (end - Math.floor(Date.parse(minute) / 60_000));
    if (place < 0 || place >= MINUTES) continue;
    lines.succeeded[place] = (lines.succeeded[place] ?? 0) + ends.succeeded;
    for (const of of ['failed', 'dead', 'unknown'] as const)
      lines.failed[place] = (lines.failed[place] ?? 0) + ends[of];
  }
  return hour;
};

const pathOf = (values: readonly number[], most: number): string =>
  values
    .map((value, i) => {
      const x = (i / (MINUTES - 1)) * SIZE.width;
      const y = SIZE.height - 1 - (value / most) * (SIZE.height - 2);
      return `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join('');

/** An hour of a handler as a line per outcome. */
export const Spark = ({ hour, handler }: { hour: Hour; handler: string }) => {
  const lines = hour.get(handler);
  if (lines === undefined) return <span class="none">–</span>;
  const most = Math.max(1, ...lines.succeeded, ...lines.failed);
  const sum = (values: readonly number[]): string => number(values.reduce((all, n) => all + n, 0));
  const text = `${sum(lines.succeeded)} succeeded, ${sum(lines.failed)} did not; at most ${number(most)} per minute`;
  return (
    <svg class="spark" viewBox={`0 0 ${SIZE.width} ${SIZE.height}`} role="img" aria-label={text}>
      <title>{text}</title>
      <path d={pathOf(lines.succeeded, most)} />
      <path class="failed" d={pathOf(lines.failed, most)} />
    </svg>
  );
};
