import { createHash } from 'node:crypto';
import { isReference } from '../../handlers/call';
import { show } from '../../handlers/text';
import type { ItemResult, Results } from '../../handlers/contract';
import { RESULT_BYTES_MAX } from '../../handlers/storable';

/**
 * A completion reported from outside about a batch that the downstream has: the same form in the
 * client, the signal and the HTTP callback.
 */

const COMPLETION_STATUSES = ['done', 'expired', 'failed'] as const;

/** Exactly one of `reference` (the downstream's answer when it accepted) and `batchId`. */
export interface CompletionWhat {
  reference?: string;
  batchId?: number;
}

/**
 * `done` (default): results as `submit` gives them, a member without one is unknown. `expired`: the
 * results that exist; the other members are tried again. `failed`: refused for its content, nothing
 * of it was applied.
 */
export interface CompletionReport<R = Results> {
  status?: (typeof COMPLETION_STATUSES)[number];
  results?: R;
  /** The reason, with `expired` and `failed`. */
  error?: string;
}

export type Completion = CompletionWhat & CompletionReport;

/** A problem, with its field. */
export interface CompletionProblem {
  field: string;
  message: string;
}

/**
 * Returns the first problem of the completion's form, or null. The results themselves are checked
 * while they are read.
 */
export const checkCompletion = (completion: Completion): CompletionProblem | null => {
  if (typeof completion !== 'object' || completion === null)
    return problem('completion', 'an object with results, or with a status', completion);
  const { reference, batchId } = completion;
  if ((reference === undefined) === (batchId === undefined))
    return problem('reference', 'either a reference or a batchId', reference === undefined ? undefined : 'both');
  if (reference !== undefined && !isReference(reference))
    return problem('reference', 'the text that the downstream returned when it accepted the batch', reference);
  if (batchId !== undefined && (!Number.isSafeInteger(batchId) || batchId < 1))
    return problem('batchId', 'the number of a batch', batchId);
  return checkReport(completion);
};

const checkReport = ({ status = 'done', results, error }: CompletionReport): CompletionProblem | null => {
  if (!(COMPLETION_STATUSES as readonly unknown[]).includes(status))
    return problem('status', COMPLETION_STATUSES.join(', '), status);
  if (error !== undefined && typeof error !== 'string') return problem('error', 'a text', error);
  if (status === 'done' && error !== undefined)
    return problem('error', 'no error with status done (errors belong in results)', error);
  if (status === 'failed' && results !== undefined)
    return problem('results', 'no results with status failed; with results the status is done or expired', results);
  const iterable =
    typeof results === 'object' && results !== null && (Symbol.iterator in results || Symbol.asyncIterator in results);
  if (!iterable && (status === 'done' || (status === 'expired' && results !== undefined)))
    return problem('results', 'an array or (async) iterable of {id or index, status, result?, error?}', results);
  return null;
};

const problem = (field: string, expected: string, got: unknown): CompletionProblem => ({
  field,
  message: `expected ${expected}, got ${show(got)}`,
});

/**
 * Reads a completion once, and computes its digest while reading, by which a repeat is recognized.
 */
export class CompletionReader {
  /** The first invalid result; reading stops there. */
  problem: CompletionProblem | null = null;
  private readonly hash = createHash('sha256');
  private cameAt = performance.now();

  constructor(private readonly completion: CompletionReport) {
    this.hash.update(JSON.stringify([completion.status ?? 'done', completion.error ?? null]));
  }

  /** Yields the results, once, and before `digest`. */
  async *results(): AsyncGenerator<ItemResult> {
    let place = 0;
    for await (const item of this.completion.results ?? []) {
      const json = jsonOf(item);
      const bytes = json === null ? 0 : Buffer.byteLength(json);
      if (json === null) this.problem = problem(`results[${place}]`, 'a value that can be written as JSON', item);
      if (bytes > RESULT_BYTES_MAX)
        this.problem = problem(`results[${place}]`, `at most ${RESULT_BYTES_MAX} bytes of JSON`, bytes);
      if (this.problem !== null) return;
      this.hash.update(json!).update('\n');
      this.cameAt = performance.now();
      place++;
      yield item;
    }
  }

  /** Returns how long ago the last result came, in ms. */
  quietMs(): number {
    return performance.now() - this.cameAt;
  }

  digest(): string {
    return this.hash.digest('base64url');
  }

  /**
   * Reads the whole completion only for its digest, and returns it; null: it has more than `most`
   * results, so it cannot be the one that settled the batch.
   */
  async readDigest(most: number): Promise<string | null> {
    let read = 0;
    for await (const item of this.results()) if (item !== undefined && ++read > most) return null;
    return this.problem === null ? this.digest() : null;
  }
}

const jsonOf = (item: unknown): string | null => {
  try {
    return JSON.stringify(item) ?? 'null';
  } catch {
    return null;
  }
};
