/** The states of a bulk action: the only list of them. SQL stores the numbers. */
export const BULK_STATES = { counting: 0, working: 1, done: 2, stopped: 3 } as const;
export type BulkState = keyof typeof BULK_STATES;

const NAMES = new Map(Object.entries(BULK_STATES).map(([name, code]) => [code, name as BulkState]));

export const bulkStateName = (code: number): BulkState => {
  const name = NAMES.get(code as (typeof BULK_STATES)[BulkState]);
  if (name === undefined) throw new Error(`bulk state: expected one of ${[...NAMES.keys()].join(', ')}, got ${code}`);
  return name;
};

/** Says whether it changes no more tasks. */
export const isBulkOver = (state: BulkState): boolean => state === 'done' || state === 'stopped';
