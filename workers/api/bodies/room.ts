import { AGAIN_S, ApiProblem } from '../problem';

/** Longest that a request waits for room. */
const WAIT_MS = 5_000;

interface Waiting {
  part: number;
  enter: () => void;
}

/**
 * Room for so many bytes (or other units) of memory: what does not fit waits a little. What fits
 * does not wait for what is larger.
 */
export class Room {
  private taken = 0;
  private readonly waiting: Waiting[] = [];

  constructor(
    private readonly size: number,
    /** What fills it, as text: "large bodies". */
    private readonly what: string,
  ) {}

  /**
   * Resolves with how to leave. What is larger than the room enters it alone. @throws ApiProblem
   * after five seconds
   */
  async enter(wanted: number): Promise<() => void> {
    const part = Math.min(wanted, this.size);
    if (this.taken + part > this.size) await this.wait(part);
    else this.taken += part;
    return () => {
      this.taken -= part;
      this.admit();
    };
  }

  private wait(part: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        part,
        enter: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(waiting), 1);
        reject(
          new ApiProblem('busy', `Too many ${this.what} are in memory at once. Try again.`, { retryAfterS: AGAIN_S }),
        );
      }, WAIT_MS);
      this.waiting.push(waiting);
    });
  }

  private admit(): void {
    for (const waiting of [...this.waiting]) {
      if (this.taken + waiting.part > this.size) continue;
      this.taken += waiting.part;
      this.waiting.splice(this.waiting.indexOf(waiting), 1);
      waiting.enter();
    }
  }
}
