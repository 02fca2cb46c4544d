import { seededRandom } from '../support/random';
import type { Edit, Prices } from './edits';
import { applyEdits, readsOf, writesOf } from './edits';

/** A batch of the run, before it has an id. */
export interface PlannedBatch {
  service: string;
  edits: Edit[];
  /** Place of the batch, of another service, that must be committed first. */
  dependsOn: number | null;
}

export const BATCHES_PER_CALL = 100;
const KEYS = 8;
const INVALID = 0.02;
const DEPENDENT = 0.02;

/**
 * Batches of all services in the order of their submission: prices that are set or derived from
 * others, some of them invalid.
 */
export const planBatches = (services: number, batches: number, seed: number): PlannedBatch[] => {
  const random = seededRandom(seed);
  const whole = (n: number): number => Math.floor(random() * n);
  const edit = (id: string): Edit => {
    const key = `price-${whole(KEYS)}`;
    if (random() < INVALID) return { id, key, set: -1 };
    if (random() < 0.5) return { id, key, set: 1 + whole(1_000) / 4 };
    return { id, key, of: `price-${whole(KEYS)}`, plus: whole(100) / 4 };
  };
  return Array.from({ length: batches }, (_, at) => {
    const edits = Array.from({ length: 1 + whole(3) }, (__, i) => edit(`edit-${at}-${i}`));
    // Of the same call: what was refused before is no dependency to be had.
    const earlier = at % BATCHES_PER_CALL;
    const dependsOn = earlier > 0 && random() < DEPENDENT ? at - 1 - whole(Math.min(earlier, 20)) : null;
    return { service: `po-${whole(services)}`, edits, dependsOn };
  });
};

export interface Expected {
  state: Record<string, Prices>;
  /** Places of the batches that are applied, in order. */
  applied: number[];
}

/** What one submitter alone, one batch after the other, would come to. */
export const applySequentially = (batches: readonly PlannedBatch[]): Expected => {
  const state: Record<string, Prices> = {};
  const applied: number[] = [];
  const done = new Set<number>();
  for (const [at, { service, edits, dependsOn }] of batches.entries()) {
    if (dependsOn !== null && !done.has(dependsOn)) continue;
    const { prices } = applyEdits(state[service] ?? {}, edits);
    if (prices === null) continue;
    state[service] = prices;
    applied.push(at);
    done.add(at);
  }
  return { state, applied };
};

export interface Comparison {
  isEqual: boolean;
  lost: number[];
  twice: number[];
  strangers: number;
  /**
   * Batches of one service that were applied in another order although the one reads or writes what
   * the other writes.
   */
  inversions: [number, number][];
  wrongPrices: string[];
}

/**
 * The ledger's own account against the sequential result; `applied`: places of the batches in the
 * order in which it applied them.
 */
export const compare = (
  batches: readonly PlannedBatch[],
  ledger: { state: Record<string, Prices>; applied: readonly (number | undefined)[] },
): Comparison => {
  const expected = applySequentially(batches);
  const times = new Map<number, number>();
  for (const at of ledger.applied) if (at !== undefined) times.set(at, (times.get(at) ?? 0) + 1);
  const wrongPrices = [...new Set([...Object.keys(expected.state), ...Object.keys(ledger.state)])].filter(
    (service) => sorted(expected.state[service]) !== sorted(ledger.state[service]),
  );
  const lost = expected.applied.filter((at) => !times.has(at));
  const twice = [...times].filter(([, n]) => n > 1).map(([at]) => at);
  const strangers = ledger.applied.filter((at) => at === undefined).length;
  const inversions = findInversions(batches, ledger.applied);
  const isEqual = lost.length + twice.length + strangers + inversions.length + wrongPrices.length === 0;
  return { isEqual, lost, twice, strangers, inversions, wrongPrices };
};

const sorted = (prices: Prices | undefined): string =>
  JSON.stringify(Object.entries(prices ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));

const findInversions = (
  batches: readonly PlannedBatch[],
  applied: readonly (number | undefined)[],
): [number, number][] => {
  const found: [number, number][] = [];
  const ofService = new Map<string, number[]>();
  for (const at of applied) {
    if (at === undefined) continue;
    const { service } = batches[at]!;
    const before = ofService.get(service) ?? [];
    for (const earlier of before)
      if (earlier > at && conflict(batches[earlier]!, batches[at]!)) found.push([earlier, at]);
    before.push(at);
    ofService.set(service, before);
  }
  return found;
};

const conflict = (one: PlannedBatch, other: PlannedBatch): boolean => {
  const writes = (batch: PlannedBatch): Set<string> => new Set(batch.edits.flatMap(writesOf));
  const touches = (batch: PlannedBatch): string[] =>
    batch.edits.flatMap((edit) => [...readsOf(edit), ...writesOf(edit)]);
  const [a, b] = [writes(one), writes(other)];
  return touches(other).some((key) => a.has(key)) || touches(one).some((key) => b.has(key));
};
