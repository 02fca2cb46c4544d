/** Values that one evaluation may look at: about 30 ms. */
const VALUES_MAX = 1_000_000;
/** Text that is looked for in another text: the search may cost the product of both lengths. */
export const NEEDLE_CHARACTERS_MAX = 256;
/** Characters that cost as much as a value. */
const CHARACTERS_PER_VALUE = 64;
/** What a turn costs, in values: it may end with an error, which takes some microseconds. */
const VALUES_PER_TURN = 10;

/**
 * Counts what an evaluation looks at. Payloads and answers come from outside, and an expression
 * with two loops costs the product of what both go over.
 */
export class Meter {
  #left = VALUES_MAX;

  begin(): void {
    this.#left = VALUES_MAX;
  }

  get isOver(): boolean {
    return this.#left < 0;
  }

  /** Counts one turn of a loop. False: the loop must end. */
  turn(): boolean {
    this.#left -= VALUES_PER_TURN;
    return this.#left >= 0;
  }

  /** Counts a text that is read character by character. */
  readText(text: string): string {
    this.#left -= text.length;
    this.#check();
    return text;
  }

  /** Counts a value with all that is in it, and returns it. */
  spend(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) {
      this.#left -= typeof value === 'string' ? 1 + value.length / CHARACTERS_PER_VALUE : 1;
      this.#check();
      return value;
    }
    const open: unknown[] = [value];
    while (open.length > 0) {
      const one = open.pop();
      this.#left -= 1;
      if (typeof one === 'string') this.#left -= one.length / CHARACTERS_PER_VALUE;
      else if (typeof one === 'object' && one !== null) this.#open(one, open);
      this.#check();
    }
    return value;
  }

  #open(one: object, open: unknown[]): void {
    const members: readonly unknown[] | Uint8Array =
      Array.isArray(one) || one instanceof Uint8Array ? one : Object.values(one);
    if (members instanceof Uint8Array) this.#left -= members.length / CHARACTERS_PER_VALUE;
    else if (members.length > this.#left) this.#left = -1;
    else for (const member of members) open.push(member);
  }

  #check(): void {
    if (this.isOver) throw new Error(OVER);
  }
}

export const OVER = `expected to be done with ${VALUES_MAX.toLocaleString('en-US')} values, got more`;
