import type { HandlerCounts } from '../workflows/temporal/handlerCounts';
import type { Activity } from './refuseUnreadable';

interface Deps {
  /** Counts the runs, by activity. */
  runs: HandlerCounts;
  /** Those of which runs are counted by name: what users give may name any. */
  handlers: { has(name: string): boolean };
}

/** Makes activities count their runs, by the handler that their input names. */
export const countRuns = <A extends Record<string, Activity>>({ runs, handlers }: Deps, activities: A): A =>
  Object.fromEntries(
    Object.entries(activities).map(([name, activity]): [string, Activity] => [
      name,
      (...args) => {
        const { handler } = ((args as unknown[])[0] ?? {}) as { handler?: unknown };
        runs.add(name, typeof handler === 'string' && handlers.has(handler) ? handler : '');
        return activity(...args);
      },
    ]),
  ) as A;
