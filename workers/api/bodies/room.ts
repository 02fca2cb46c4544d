import { AGAIN_S, ApiProblem } from '../problem';

/** Longest that a request waits for room. */
const WAIT_MS = 5_000;

interface Waiting {
  caller: number;
  part: number;
  enter: () => void;
}

/**
 * Room for so many bytes (or other units) of memory: what does not fit waits a little. Whose caller
 * would have the least of the room with it is next: so several callers with much cannot keep
 * another one out, and neither can one request that wants all of it.
 */
export class Room {
  private taken = 0;
  /** By caller. */
  private readonly held = new Map<number, number>();
  private waiting: Waiting[] = [];

  constructor(
    private readonly size: number,
    /** What fills it, as text: "large bodies". */
    private readonly what: string,
  ) {}

  /**
   * Resolves with how to leave. What is larger than the room enters it alone. @throws ApiProblem
   * after five seconds
   */
  async enter(wanted: number, caller: number): Promise<() => void> {
    const part = Math.min(wanted, this.size);
    const entered = new Promise<void>((resolve, reject) => {
      const waiting: Waiting = { caller, part, enter: resolve };
      this.waiting.push(waiting);
      this.admit();
      if (!this.waiting.includes(waiting)) return;
      const timer = setTimeout(() => {
        this.waiting = this.waiting.filter((other) => other !== waiting);
        const why = `Too many ${this.what} are in memory at once. Try again.`;
        reject(new ApiProblem('busy', why, { retryAfterS: AGAIN_S }));
        this.admit();
      }, WAIT_MS);
      waiting.enter = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    await entered;
    return () => {
      this.take(caller, -part);
      this.admit();
    };
  }

  private heldBy(caller: number): number {
    return this.held.get(caller) ?? 0;
  }

  private take(caller: number, part: number): void {
    this.taken += part;
    const held = this.heldBy(caller) + part;
    if (held === 0) this.held.delete(caller);
    else this.held.set(caller, held);
  }

  private admit(): void {
    const wouldHave = ({ caller, part }: Waiting): number => this.heldBy(caller) + part;
    for (const waiting of [...this.waiting].sort((a, b) => wouldHave(a) - wouldHave(b))) {
      if (this.taken + waiting.part > this.size) return;
      this.take(waiting.caller, waiting.part);
      this.waiting = this.waiting.filter((other) => other !== waiting);
      waiting.enter();
    }
  }
}
