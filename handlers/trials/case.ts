import type { Handler } from '../types';
import type { Drive, Driven, DriveOptions, End } from './drive';
import type { SeenCall } from './fake';
import { markOf } from './trial';
import type { Wire } from './trial';
import type { Script } from './turn';

/** Everything that a case has seen, to be judged. */
export interface Seen extends Driven {
  readonly handler: Handler;
  readonly wire: Wire;
  /** How often each task was applied, by its id. */
  readonly effects: ReadonlyMap<string, number>;
  readonly calls: readonly SeenCall[];
  /** The bytes of the first call by the handler's own count. */
  readonly countedBytes: number;
}

/** Returns why a case is not passed; undefined: it is. */
export type Judge = (seen: Seen) => string | undefined;

export interface Case {
  /** A sentence, unique among all cases. */
  readonly name: string;
  readonly room: 'items' | 'poison' | 'refusals' | 'lost' | 'answers' | 'time' | 'repeats' | 'sizes';
  /** Why the case says nothing of this handler; undefined: it applies. */
  readonly skips?: (wire: Wire, handler: Handler) => string | undefined;
  /** How many tasks; default `CASE_TASKS`. */
  readonly tasks?: (handler: Handler) => number;
  /** Text of each task after its mark. */
  readonly text?: string;
  readonly script?: Script;
  readonly drive?: Partial<DriveOptions>;
  /** The address leads nowhere. */
  readonly isUnreachable?: boolean;
  /** Drives the tasks otherwise than once. `make` creates a driver; equal keys, equal batches. */
  readonly run?: (make: (key: string) => Drive, tasks: Parameters<Drive['run']>[0]) => Promise<Driven>;
  /** The case provokes an unknown outcome: where nothing else can be done, a task may end so. */
  readonly mayEndUnknown?: boolean;
  readonly judge: Judge;
}

/** Tasks per case, unless it says otherwise: places 1 to 10 for a poison task. */
export const CASE_TASKS = 10;

/** Returns the number of tasks of a case for this handler. */
export const tasksOf = ({ tasks }: Case, handler: Handler): number =>
  Math.min(tasks?.(handler) ?? CASE_TASKS, handler.limits.maxItems);

/** Passes if all tasks have ended so. */
export const all =
  (...wanted: readonly End[]): Judge =>
  ({ ends }) => {
    const other = [...ends].find(([, end]) => !wanted.includes(end));
    return other && `expected every task to end ${wanted.join(' or ')}, got ${other[1]} for ${other[0]}`;
  };

/** Passes if the tasks at these places have ended `failed`, and all others `succeeded`. */
export const failedAt =
  (isFailed: (place: number) => boolean): Judge =>
  ({ ends }) => {
    const wrong = [...ends].find(([, end], place) => end !== (isFailed(place) ? 'failed' : 'succeeded'));
    return wrong && `expected the refused tasks alone to fail, got ${wrong[1]} for ${wrong[0]}`;
  };

/** Passes if the fake has seen so many calls. */
export const calls =
  (wanted: number): Judge =>
  ({ calls: seen }) =>
    seen.length === wanted ? undefined : `expected ${wanted} calls, got ${seen.length}`;

/** Passes if the first wait that was decided is in this range, in milliseconds. */
export const waits =
  (from: number, to: number): Judge =>
  ({ waits: [first] }) =>
    first !== undefined && first >= from && first <= to
      ? undefined
      : `expected a wait of ${from === to ? '' : `${from} to `}${to} ms, got ${first ?? 'none'}`;

/** Passes if the first call had one of these outcomes. */
export const first =
  (...kinds: readonly string[]): Judge =>
  ({ outcomes: [outcome] }) =>
    outcome !== undefined && kinds.includes(outcome.kind)
      ? undefined
      : `expected the first call to be ${kinds.join(' or ')}, got ${JSON.stringify(outcome)}`;

/** Passes if all judges do; says what the first one that does not says. */
export const both =
  (...judges: readonly Judge[]): Judge =>
  (seen) => {
    for (const judge of judges) {
      const why = judge(seen);
      if (why !== undefined) return why;
    }
    return undefined;
  };

export const idOf = (place: number): string => `certify ${markOf(place)}`;
