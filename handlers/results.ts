import type { CallOutcome, Deviant } from '../workflows/planning/calls/plans';
import { readableWait } from './thrown';
import { cutText, describeThrown, show } from './text';
import type { ItemResult, Results } from './contract';
import { ITEM_STATUSES } from './contract';

/**
 * Takes the `result` values of members that ended `ok` or `failed`, in the order of their arrival.
 */
export interface ResultSink {
  /**
   * Adds the value of the member at this place in the batch. Awaited before the next result is
   * read, as back pressure. Everything added is void unless the outcome is `results`.
   */
  add(index: number, result: unknown): Promise<void> | void;
}

/** A stream of results could not be read to its end. Its results so far are void. */
export class ResultsInterrupted extends Error {
  override readonly name = 'ResultsInterrupted';
  constructor(
    /** Which side failed: the handler's iterable, or the sink that stores the results. */
    readonly side: 'source' | 'sink',
    /** How many results were read before. */
    readonly read: number,
    override readonly cause: unknown,
  ) {
    super(
      `${side === 'source' ? 'the results broke off' : 'a result could not be stored'} after ${read} were read: ${describeThrown(cause)}`,
    );
  }
}

/**
 * What happens to a member without a result. By default its outcome is unknown; in an expired batch
 * it is tried again (`retry`).
 */
export type Missing = Pick<Deviant, 'status' | 'error'>;
const NO_RESULT: Missing = { status: 'unknown', error: 'the answer has no result for this task' };

interface Task {
  readonly id: string;
}

const statuses: ReadonlySet<unknown> = new Set(ITEM_STATUSES);

/**
 * Matches results to members, and keeps only what differs from `ok`: one byte per member, and one
 * `Deviant` per member that is not `ok`.
 */
class Tally {
  readonly deviants: Deviant[] = [];
  read = 0;
  private readonly seen: Uint8Array;
  private places: Map<string, number> | undefined;
  /** Keeps each error text once, since thousands of members often have the same one. */
  private readonly errors = new Map<string, string>();

  constructor(private readonly tasks: readonly Task[]) {
    this.seen = new Uint8Array(tasks.length);
  }

  /**
   * Returns the member's place, or a problem of the result, which makes the whole batch unknown.
   */
  take(item: ItemResult): number | string {
    if (typeof item !== 'object' || item === null) return `expected a result {id or index, status}, got ${show(item)}`;
    if (!statuses.has(item.status))
      return `expected the status ${ITEM_STATUSES.join(', ')}, got ${show(item.status)} in ${show(item)}`;
    const place = this.place(item);
    if (typeof place === 'string') return place;
    if (this.seen[place] === 1) return `two results for task ${show(this.tasks[place]!.id)} (place ${place})`;
    this.seen[place] = 1;
    this.read++;
    if (item.status !== 'ok') this.deviants.push(this.deviant(place, item.status, item));
    return place;
  }

  /** Adds the members without a result to the deviants. */
  addMissing({ status, error }: Missing): void {
    if (this.read === this.tasks.length) return;
    this.seen.forEach((seen, index) => {
      if (seen === 0) this.deviants.push({ index, status, error });
    });
    this.deviants.sort((a, b) => a.index - b.index);
  }

  private place(item: ItemResult): number | string {
    const { id, index } = item;
    if (index !== undefined) {
      if (!Number.isSafeInteger(index) || index < 0 || index >= this.tasks.length) {
        return `expected an index from 0 to ${this.tasks.length - 1}, got ${show(index)}`;
      }
      if (id !== undefined && id !== this.tasks[index]!.id) {
        return `a result for task ${show(id)} at the place of task ${show(this.tasks[index]!.id)} (index ${index})`;
      }
      return index;
    }
    if (typeof id !== 'string') return `expected an id (text) or an index, got ${show(id)} in ${show(item, 400)}`;
    // Most answers name the tasks in their order; a map is made for the first that does not.
    if (this.places === undefined && this.tasks[this.read]?.id === id) return this.read;
    this.places ??= new Map(this.tasks.map((task, place) => [task.id, place]));
    return this.places.get(id) ?? `a result for ${show(id)}, which is not in this batch of ${this.tasks.length}`;
  }

  private deviant(index: number, status: Deviant['status'], item: ItemResult): Deviant {
    const deviant: Deviant = { index, status };
    const error = item.error as unknown;
    if (error !== undefined && error !== null)
      deviant.error = this.intern(typeof error === 'string' ? cutText(error) : describeError(error));
    const retryAfterMs = readableWait(item.retryAfterMs);
    if (retryAfterMs !== undefined) deviant.retryAfterMs = retryAfterMs;
    return deviant;
  }

  private intern(error: string): string {
    const known = this.errors.get(error);
    if (known !== undefined) return known;
    this.errors.set(error, error);
    return error;
  }
}

const describeError = (error: unknown): string => (error instanceof Error ? describeThrown(error) : show(error, 2_000));

const keepsValue = (item: ItemResult): boolean =>
  item.result !== undefined && (item.status === 'ok' || item.status === 'failed');

/**
 * Reads the results of one batch from any source: `submit`, `reconcile`, or `results` of a
 * reference. Memory grows with the members that are not `ok`, not with the results. A result for a
 * task outside of the batch, a repeated result, or an unreadable one makes the batch `unknown`,
 * with the evidence as `error`. A member without a result is treated as `missing` says. Rejects
 * only with `ResultsInterrupted`.
 */
export async function readResults(
  results: Results,
  tasks: readonly Task[],
  sink: ResultSink,
  missing: Missing = NO_RESULT,
): Promise<CallOutcome> {
  const tally = new Tally(tasks);
  let side: 'source' | 'sink' = 'source';
  /**
   * Takes one result and returns its problem; undefined: none. Returns a promise only if the sink
   * does, so that a plain array costs no turn of the event loop per member.
   */
  const take = (item: ItemResult): string | undefined | Promise<undefined> => {
    const place = tally.take(item);
    if (typeof place === 'string') return place;
    if (!keepsValue(item)) return undefined;
    side = 'sink';
    const added = sink.add(place, item.result);
    if (added === undefined) {
      side = 'source';
      return undefined;
    }
    return added.then(() => {
      side = 'source';
      return undefined;
    });
  };
  try {
    const problem = await takeAll(results, take);
    if (problem !== undefined) return { kind: 'unknown', error: cutText(`unreadable results: ${problem}`) };
  } catch (cause) {
    throw new ResultsInterrupted(side, tally.read, cause);
  }
  if (tally.read === 0 && tasks.length > 0 && missing === NO_RESULT) {
    return { kind: 'unknown', error: `unreadable results: expected ${tasks.length}, got none` };
  }
  tally.addMissing(missing);
  tally.deviants.sort((a, b) => a.index - b.index);
  return { kind: 'results', deviants: tally.deviants };
}

type Take = (item: ItemResult) => string | undefined | Promise<undefined>;

async function takeAll(results: Results, take: Take): Promise<string | undefined> {
  if (typeof results !== 'object' || results === null)
    return `expected an array or an (async) iterable, got ${show(results)}`;
  if (Symbol.asyncIterator in results) {
    for await (const item of results) {
      const problem = await take(item);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  if (!(Symbol.iterator in results)) return `expected an array or an (async) iterable, got ${show(results)}`;
  // By index: an iterator makes an object per result.
  if (Array.isArray(results)) {
    for (let at = 0; at < results.length; at++) {
      const taken = take(results[at] as ItemResult);
      const problem = taken instanceof Promise ? await taken : taken;
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  for (const item of results) {
    const taken = take(item);
    const problem = taken instanceof Promise ? await taken : taken;
    if (problem !== undefined) return problem;
  }
  return undefined;
}
