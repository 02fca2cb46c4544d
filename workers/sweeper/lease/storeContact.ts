import { HEARTBEAT_MS } from '../../registry';

/**
 * Longest time between two answers of the store: after an outage that is shorter, the sign of a
 * living node is not old.
 */
const LONGEST_PAUSE_MS = HEARTBEAT_MS + 500;

/**
 * Knows since when the store has answered this process without a gap: whether others were silent,
 * or the store was away, which looks the same in their rows.
 */
export class StoreContact {
  private sinceMs = Infinity;
  private atMs = -Infinity;

  /** Notes an answer, at its receipt: also a late one shows that the store was away. */
  answered(): void {
    const now = performance.now();
    if (now - this.atMs > LONGEST_PAUSE_MS) this.sinceMs = now;
    this.atMs = now;
  }

  /**
   * When the first answer came after the last gap, by `performance.now`; Infinity: none came yet.
   */
  get since(): number {
    return this.sinceMs;
  }
}
