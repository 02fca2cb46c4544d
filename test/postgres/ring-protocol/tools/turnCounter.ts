/** Turns of one leader at one instant of the store's clock: with more of either it spins. */
const MOST_IDLE = 200;
const MOST = 5_000;

/** Counts the turns that leaders take while the clock stands. */
export class TurnCounter {
  private readonly turns = new Map<number, { at: number; idle: number; all: number }>();

  /**
   * Returns whether the leader spins. `worked`: the turn handed something to a dispatch, of which
   * a backlog takes many at one instant.
   */
  spins(leaderId: number, worked: boolean, nowMs: number): boolean {
    const counted = this.turns.get(leaderId);
    const { idle, all } = counted?.at === nowMs ? counted : { idle: 0, all: 0 };
    const turns = { at: nowMs, idle: worked ? 0 : idle + 1, all: all + 1 };
    this.turns.set(leaderId, turns);
    return turns.idle > MOST_IDLE || turns.all > MOST;
  }
}
