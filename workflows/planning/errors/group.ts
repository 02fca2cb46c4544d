import { normaliseError } from './normalise';

/** What an error is of; `retrying`: a task or batch that is tried again. */
export const ERROR_SOURCES = ['dead', 'failed', 'unknown', 'retrying', 'callback'] as const;
export type ErrorSource = (typeof ERROR_SOURCES)[number];

/** Errors with the same text. */
export interface CountedError {
  /** Null: a callback of a fan-out. */
  handler: string | null;
  of: ErrorSource;
  text: string;
  /** Tasks, or callbacks. */
  count: number;
  firstMs: number;
  lastMs: number;
  /** Some of the tasks, of the batches and of the callbacks, newest first. */
  tasks: readonly number[];
  batches: readonly number[];
  callbacks: readonly number[];
}

/** Errors whose texts differ only in what `normaliseError` replaces. */
export interface ErrorGroup extends CountedError {
  /** The newest of them as it was written. */
  error: string;
}

/** Most ids of each kind that a group names. */
export const SAMPLES = 3;

/** Groups errors of one handler and one kind by their normalised texts, the most frequent first. */
export const groupErrors = (errors: readonly CountedError[]): ErrorGroup[] => {
  const groups = new Map<string, ErrorGroup>();
  for (const one of errors) {
    const text = normaliseError(one.text);
    const key = JSON.stringify([one.handler, one.of, text]);
    const group = groups.get(key);
    groups.set(key, group === undefined ? { ...one, error: one.text, text } : joined(group, one));
  }
  return [...groups.values()].sort((a, b) => b.count - a.count || b.lastMs - a.lastMs);
};

const joined = (group: ErrorGroup, one: CountedError): ErrorGroup => {
  const isNewer = one.lastMs > group.lastMs;
  const both = (some: 'tasks' | 'batches' | 'callbacks'): number[] =>
    (isNewer ? [...one[some], ...group[some]] : [...group[some], ...one[some]]).slice(0, SAMPLES);
  return {
    ...group,
    error: isNewer ? one.text : group.error,
    count: group.count + one.count,
    firstMs: Math.min(group.firstMs, one.firstMs),
    lastMs: Math.max(group.lastMs, one.lastMs),
    tasks: both('tasks'),
    batches: both('batches'),
    callbacks: both('callbacks'),
  };
};
