/** Values that one evaluation may look at: about 0.1 s. */
const VALUES_MAX = 250_000;
/** Text that is looked for in another text: the search may cost the product of both lengths. */
export const NEEDLE_CHARACTERS_MAX = 256;
/** Characters that cost as much as a value. */
const CHARACTERS_PER_VALUE = 64;
/** What a turn costs, in values. */
const VALUES_PER_TURN = 5;
/** Characters that cost as much as a value where a pattern reads them. */
const CHARACTERS_PER_VALUE_READ = 2;
/** Turns that may end with an error: the package takes 30 µs for one, 100 times a turn. */
const ERRORS_MAX = 1_000;

/**
 * Counts what an evaluation looks at. Payloads and answers come from outside, and an expression
 * with two loops costs the product of what both go over.
 */
export class Meter {
  #left = VALUES_MAX;
  /** Turns that were begun and have not given a value: they go on, or ended with an error. */
  #open = 0;

  begin(): void {
    this.#left = VALUES_MAX;
    this.#open = 0;
  }

  get isOver(): boolean {
    return this.#left < 0;
  }

  /** Counts one turn of a loop. False: the loop must end. */
  turn(): boolean {
    this.#left -= VALUES_PER_TURN;
    this.#open += 1;
    if (this.#open > ERRORS_MAX) this.#left = -1;
    return this.#left >= 0;
  }

  /** Notes that a turn has given a value, and returns it. */
  given(value: unknown): unknown {
    this.#open -= 1;
    return value;
  }

  /** Counts a text that is read character by character. */
  readText(text: string): string {
    this.#left -= text.length / CHARACTERS_PER_VALUE_READ;
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
      else if (typeof one === 'object' && one !== null) this.#enter(one, open);
      this.#check();
    }
    return value;
  }

  #enter(one: object, open: unknown[]): void {
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

const digits = (n: number): string => n.toLocaleString('en-US');
export const OVER =
  `expected at most ${digits(VALUES_MAX)} values to read, ` +
  `and ${digits(ERRORS_MAX)} turns of loops with an error, got more`;
