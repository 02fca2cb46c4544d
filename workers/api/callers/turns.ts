/**
 * Gives requests that hold a database connection for long their turn: few at once, so that those
 * which take a moment find a connection free, and caller after caller, so that who sends many waits
 * for itself. Nothing is refused.
 */
export class Turns {
  private running = 0;
  /** By caller: those under way, and those that wait, first come first. In the order of turns. */
  private readonly callers = new Map<number, { running: number; waiting: (() => void)[] }>();

  /** `most`: turns at once. One caller has at most half of them. */
  constructor(private readonly most: number) {}

  /** Resolves when it is this request's turn, with how to end it. */
  async enter(caller: number): Promise<() => void> {
    const own = this.callers.get(caller) ?? { running: 0, waiting: [] };
    this.callers.set(caller, own);
    const turn = new Promise<void>((resolve) => own.waiting.push(resolve));
    this.next();
    await turn;
    return () => {
      own.running--;
      this.running--;
      this.callers.delete(caller);
      if (own.running > 0 || own.waiting.length > 0) this.callers.set(caller, own); // behind all others
      this.next();
    };
  }

  private next(): void {
    const each = Math.ceil(this.most / 2);
    for (const [caller, own] of this.callers) {
      if (this.running >= this.most) return;
      const begin = own.running < each ? own.waiting.shift() : undefined;
      if (begin === undefined) continue;
      own.running++;
      this.running++;
      this.callers.delete(caller);
      this.callers.set(caller, own);
      begin();
    }
  }
}

/** Returns how many turns a pool of so many connections has: a fifth, at least one, stays free. */
export const turnsOf = (connections: number): number =>
  Math.max(1, connections - Math.max(1, Math.floor(connections / 5)));
