import type { Tables } from './tables';
import type { BatchRow } from './rows';

/** What statements that settle batches share, of a simulated store. */

export const openAttempt = (tables: Tables, id: unknown, attempt: unknown): BatchRow | null => {
  const batch = tables.batch(id as number);
  return batch.attempt === attempt && batch.state === 'open' ? batch : null;
};

export const countAttempt = (batch: BatchRow, counts: unknown): void => {
  batch.counted = Math.min(batch.attempt, batch.counted + Number(counts));
};

/** No dispatch has it any more, and no outcome is waited for. */
export const rest = (batch: BatchRow): void => {
  batch.marked = false;
  batch.carried = false;
  batch.retryAtMs = null;
};

export const close = (batch: BatchRow, state: BatchRow['state'], error: unknown): void => {
  rest(batch);
  Object.assign(batch, { state, error, pollAtMs: null });
  batch.target.batches.delete(batch);
};

export interface Page {
  batch_id: number;
  attempt: number;
  results: [place: number, value: unknown][];
}

export const keepPage = (tables: Tables, { batch_id, attempt, results }: Page): void => {
  const batch = tables.batch(batch_id);
  if (batch.results.attempt !== attempt) batch.results = { attempt, values: new Map() };
  for (const [place, value] of results) batch.results.values.set(place, value);
};
