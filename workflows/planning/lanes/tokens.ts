import { PACE_HORIZON_MS } from '../grouping/claim';
import { takePaced } from '../grouping/pacing';
import { ratesOfTarget } from '../limits/limits';
import type { BatchTokens, HandlerTokens, QueuedBatch, TargetTokens } from './types';

/**
 * Stands for no limit of calls in flight of an ordered handler: more than there can be submitters.
 */
export const UNLIMITED_CALLS = 10_000;

/** Why a batch is held back although its lane lets it go. */
export interface Held {
  /**
   * Milliseconds after which the batch may go by time alone; null: it may go when a call or batch
   * of its handler has ended.
   */
  inMs: number | null;
  /**
   * The handler for whose calls or weight it waits, or for its target's part of them; null: it
   * waits for a rate.
   */
  handlerId: number | null;
}

export type Taken = { startInMs: number } | { held: Held };

/** What is in use; of a target with what back pressure has left, and its own limits. */
type Used = Partial<Pick<TargetTokens, 'allowed' | 'perTarget' | 'weightPerTarget' | 'rates'>> & {
  calls: number;
  weight: number;
  paces: number[];
};

/** The limits of handlers and targets, as one plan uses them up. */
export class TokenBudget {
  private readonly handlers: ReadonlyMap<number, HandlerTokens>;
  private readonly ofHandler = new Map<number, Used>();
  private readonly ofTarget = new Map<number, Used>();
  /** The new state of the rates from which units were taken, to be stored. */
  readonly paced = { handlers: new Map<number, number[]>(), targets: new Map<number, number[]>() };

  constructor(
    handlers: readonly HandlerTokens[],
    private readonly nowMs: number,
  ) {
    this.handlers = new Map(handlers.map((handler) => [handler.id, handler]));
    for (const { id, calls, weight, paces, targets } of handlers) {
      this.ofHandler.set(id, { calls, weight, paces: [...paces] });
      for (const target of targets) this.ofTarget.set(target.id, { ...target, paces: [...target.paces] });
    }
  }

  /** Takes what the batch needs of every limit, or nothing at all. */
  take(batch: Pick<QueuedBatch, 'tokens' | 'status'>): Taken {
    const { tokens } = batch;
    const limits = tokens === undefined ? undefined : this.handlers.get(tokens.handlerId);
    if (tokens === undefined || limits === undefined) return { startInMs: 0 };
    const handler = this.ofHandler.get(tokens.handlerId)!;
    const target = this.ofTarget.get(tokens.targetId) ?? { calls: 0, weight: 0, paces: [] };
    this.ofTarget.set(tokens.targetId, target);
    // The weight of a batch of unknown outcome is counted already: the downstream may have it.
    const weight = batch.status === 'unknown' ? 0 : tokens.weight;
    if (isFull(handler, limits.perHandler, weight, limits.weightPerHandler))
      return { held: { inMs: null, handlerId: limits.id } };
    const ofTarget = Math.min(target.perTarget ?? limits.perTarget ?? Infinity, target.allowed ?? Infinity);
    if (isFull(target, ofTarget, weight, target.weightPerTarget ?? limits.weightPerTarget))
      return { held: { inMs: null, handlerId: limits.id } };
    const startInMs = this.pace(limits, tokens, handler, target);
    if (startInMs > PACE_HORIZON_MS) return { held: { inMs: startInMs - PACE_HORIZON_MS / 2, handlerId: null } };
    for (const used of [handler, target]) {
      used.calls += 1;
      used.weight += weight;
    }
    return { startInMs };
  }

  /**
   * Returns in how many milliseconds the batch may start. Takes its units only if that is within
   * the horizon, as when a leader claims ahead (`planClaim`).
   */
  private pace(limits: HandlerTokens, tokens: BatchTokens, handler: Used, target: Used): number {
    const { nowMs } = this;
    const all = ratesOfTarget(limits.rates, target.rates ?? null);
    if (all.length === 0) return 0;
    const places = { target: 0, handler: 0 };
    const rates = all.map((rate) => {
      const paces = rate.scope === 'target' ? target.paces : handler.paces;
      const at = places[rate.scope]++;
      const cost = rate.unit === 'calls' ? 1 : rate.unit === 'items' ? tokens.n : tokens.weight;
      return { rate, paces, at, cost, nextAtMs: paces[at] ?? 0 };
    });
    const startAtMs = rates.reduce((start, { nextAtMs }) => Math.max(start, nextAtMs), nowMs);
    if (startAtMs - nowMs > PACE_HORIZON_MS) return startAtMs - nowMs;
    for (const { rate, paces, at, cost } of rates)
      paces[at] = takePaced(
        { limit: rate.limit, perMs: rate.perMs, nextAtMs: startAtMs },
        cost,
        startAtMs,
        0,
      )!.pace.nextAtMs;
    this.paced.handlers.set(tokens.handlerId, handler.paces);
    this.paced.targets.set(tokens.targetId, target.paces);
    return startAtMs - nowMs;
  }
}

/**
 * Says whether the batch does not fit now. It does once others have ended: one that alone exceeds
 * the weight that may be in flight, since that was lowered meanwhile, goes alone.
 */
const isFull = (used: Used, calls: number | null, weight: number, mostWeight: number | null): boolean =>
  (calls !== null && used.calls >= calls) ||
  (mostWeight !== null && weight > 0 && used.weight > 0 && used.weight + weight > mostWeight);
