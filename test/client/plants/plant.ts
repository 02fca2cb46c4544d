/** Batches of the store of the test. */
export interface Ids {
  open: number;
  parked: number;
  done: number;
  child: number;
}

export const seqOf = (id: string): string => `(select seq from task where id = '${id}')`;

export interface Plant {
  plant: (ids: Ids) => Promise<unknown>;
  /** What one of the rows that are found says. */
  row: (ids: Ids) => object;
}

/** A statement by hand. */
export type Run = (text: string) => Promise<void>;
