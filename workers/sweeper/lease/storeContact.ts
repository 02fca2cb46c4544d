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

  /** Notes an answer when it arrives: a late one, too, shows that the store was away. */
  answered(): void {
    const now = performance.now();
    if (now - this.atMs > LONGEST_PAUSE_MS) this.sinceMs = now;
    this.atMs = now;
  }

  /** Notes that the store refused: one that answers reads only takes no sign of a living node. */
  lost(): void {
    this.sinceMs = Infinity;
    this.atMs = -Infinity;
  }

  /**
   * When the first answer came after the last gap, by `performance.now`; Infinity: none came yet.
   */
  get since(): number {
    return this.sinceMs;
  }
}
