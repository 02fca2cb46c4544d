/** What becomes of waiting tasks; undefined: it stays. */
export interface Change {
  priority?: number | undefined;
  weight?: number | undefined;
  /** Unix milliseconds before which a task joins no batch; null: at once. */
  notBeforeMs?: number | null | undefined;
  /** Unix milliseconds at which a task fails that still waits then; null: never. */
  expiresAtMs?: number | null | undefined;
}

/** A task that waits, as the store has it. */
export interface Waiting {
  seq: number;
  place: 'queue' | 'delayed' | 'held';
  priority: number;
  /** Null: 1. */
  weight: number | null;
  notBeforeMs: number | null;
  /** Null: never. */
  expiresAtMs: number | null;
  /** It gets another payload. */
  isPatched?: boolean;
}

/** Says whether the change leaves the task as it is. */
export const isAlready = (
  { priority, weight, notBeforeMs, expiresAtMs }: Change,
  task: Pick<Waiting, 'priority' | 'weight' | 'notBeforeMs' | 'expiresAtMs'>,
): boolean =>
  (priority === undefined || priority === task.priority) &&
  (weight === undefined || weight === (task.weight ?? 1)) &&
  (notBeforeMs === undefined || notBeforeMs === task.notBeforeMs) &&
  (expiresAtMs === undefined || expiresAtMs === task.expiresAtMs);

/** Where tasks go, by seq. Those that are held stay held, with another time. */
export interface Moves {
  /** All that change. */
  changed: number[];
  /** Out of the queue, to wait until the time. */
  toDelayed: number[];
  /** Out of `delayed`, to join a batch at once. */
  toQueue: number[];
  /** The time that they get; undefined: that which they have. */
  notBeforeMs: number | null | undefined;
}

/** Decides where waiting tasks go. A time that has passed means at once. */
export const planMoves = (given: Change, waiting: readonly Waiting[], nowMs: number): Moves => {
  const change = atOnce(given, nowMs);
  const changing = waiting.filter((task) => task.isPatched === true || !isAlready(change, task));
  const { notBeforeMs } = change;
  const at = (place: Waiting['place']): number[] =>
    changing.filter((task) => task.place === place).map(({ seq }) => seq);
  return {
    changed: changing.map(({ seq }) => seq),
    toDelayed: typeof notBeforeMs === 'number' ? at('queue') : [],
    toQueue: notBeforeMs === null ? at('delayed') : [],
    notBeforeMs,
  };
};

/** Returns the change with null for a time that has passed. */
export const atOnce = <C extends Change>(change: C, nowMs: number): C =>
  typeof change.notBeforeMs === 'number' && change.notBeforeMs <= nowMs ? { ...change, notBeforeMs: null } : change;
