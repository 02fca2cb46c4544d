import { appendFileSync } from 'node:fs';

/** File to which each attack file appends its count, for `npm run attack`. */
export const TALLY_FILE = 'MUSTER_ATTACK_TALLY';

/** What the attacks of one file came to. */
export interface Count {
  door: string;
  tried: number;
  /** Each attack that did what it should not have been able to do. */
  through: string[];
  /** What else there is to say of it. */
  note: string;
}

/**
 * Counts attacks on one door. Call it at the top of a test file: after the file's tests it reports
 * to `npm run attack`.
 */
export class Tally {
  private tried = 0;
  private readonly through: string[] = [];
  note = '';

  constructor(readonly door: string) {
    afterAll(() => {
      const file = process.env[TALLY_FILE];
      const count: Count = { door, tried: this.tried, through: this.through, note: this.note };
      if (file !== undefined) appendFileSync(file, `${JSON.stringify(count)}\n`);
    });
  }

  /** Counts one attack; `fault` says what it achieved, null: nothing. */
  add(attack: string, fault: string | null): void {
    this.tried++;
    if (fault !== null) this.through.push(`${attack}: ${fault}`);
  }

  /** Fails unless at least so many attacks were tried, and none of them got through. */
  expectNoneThrough(atLeast: number): void {
    expect(this.through).toEqual([]);
    expect(this.tried).toBeGreaterThanOrEqual(atLeast);
  }
}
