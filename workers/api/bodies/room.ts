import { mayTake } from '../limits';
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
    /** Most that a caller may have of it, but for one thing alone; less while others have much. */
    private readonly mostOf: (caller: number) => number = () => Infinity,
  ) {}

  isUsedBy(caller: number): boolean {
    return this.held.has(caller);
  }

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
    return this.leaving(caller, part);
  }

  /**
   * Counts what is there already, and cannot wait. What comes after it does. Returns how to leave.
   */
  hold(wanted: number, caller: number): () => void {
    const part = Math.min(wanted, this.size);
    this.take(caller, part);
    return this.leaving(caller, part);
  }

  private leaving(caller: number, part: number): () => void {
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
    for (let next = this.next(); next !== null && this.taken + next.part <= this.size; next = this.next()) {
      this.take(next.caller, next.part);
      this.waiting.splice(this.waiting.indexOf(next), 1);
      next.enter();
    }
  }

  /**
   * Returns the one whose caller would have the least, but for those who have enough; of equal
   * ones, the first.
   */
  private next(): Waiting | null {
    const wouldHave = ({ caller, part }: Waiting): number => this.heldBy(caller) + part;
    const mayHave = ({ caller, part }: Waiting): boolean => {
      const own = this.heldBy(caller);
      const of = { own, taken: this.taken, most: this.mostOf(caller), all: this.size };
      return own === 0 || mayTake(part, of);
    };
    let least: Waiting | null = null;
    for (const one of this.waiting)
      if (mayHave(one) && (least === null || wouldHave(one) < wouldHave(least))) least = one;
    return least;
  }
}
