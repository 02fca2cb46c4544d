import type { Rate } from '../../../handlers';
import type { Pool } from '../../../postgres/pool';
import { tapPool } from '../../chaos/judge/tap';

/** A batch as its claim planned it. */
export interface Planned {
  target: string;
  /** When its call may start by the rates of its handler; null: at once. */
  startAtMs: number | null;
  createdMs: number;
  items: number;
}

/** The starts that claims give to their batches, as they write them: the store forgets them. */
export class Starts {
  private readonly byTasks = new Map<string, (number | null)[]>();

  constructor(pool: Pool) {
    tapPool(pool, {
      before: ({ name, values }) => {
        if (name === 'insert-batches') this.note(JSON.parse(values[0] as string) as Claimed[]);
        return Promise.resolve();
      },
    });
  }

  /** Returns the start of the next batch of these tasks, in the order in which they were formed. */
  take(seqs: readonly number[]): number | null {
    return this.byTasks.get(seqs.join())?.shift() ?? null;
  }

  private note(batches: readonly Claimed[]): void {
    for (const { seqs, start_at_ms: startAtMs } of batches)
      this.byTasks.set(seqs.join(), [...(this.byTasks.get(seqs.join()) ?? []), startAtMs]);
  }
}
interface Claimed {
  seqs: number[];
  start_at_ms: number | null;
}

/**
 * Expects each batch, in the order in which they were formed, to start as soon as the rates let it,
 * and no sooner: what a rate of the target counts is its own alone. Without a start of its own a
 * batch starts with its claim, the moment of which is known from above only.
 */
export const expectPaced = (batches: readonly Planned[], rates: readonly Rate[]): void => {
  const next = new Map<string, { leastMs: number; mostMs: number }>();
  for (const { target, startAtMs, createdMs, items } of batches) {
    const keys = rates.map(({ scope }, i) => (scope === 'target' ? `${i} ${target}` : `${i}`));
    const allowed = keys.map((key) => next.get(key) ?? { leastMs: -Infinity, mostMs: -Infinity });
    const least = Math.max(...allowed.map(({ leastMs }) => leastMs));
    const most = Math.max(createdMs, ...allowed.map(({ mostMs }) => mostMs));
    expect(startAtMs ?? createdMs).toBeGreaterThanOrEqual(least - 0.01);
    expect(startAtMs ?? createdMs).toBeLessThanOrEqual(most + 1);
    for (const [i, { limit, perMs, unit }] of rates.entries()) {
      const step = ((unit === 'items' ? items : 1) * perMs) / limit;
      next.set(keys[i]!, { leastMs: (startAtMs ?? -Infinity) + step, mostMs: (startAtMs ?? createdMs) + step });
    }
  }
};
