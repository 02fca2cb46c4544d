/** What was read is shown for this long, and for so many times what reading took, up to a limit. */
const SHOWN_MS = 1_000;
const TIMES_READING = 4;
const LONGEST_SHOWN_MS = 30_000;
/** Snapshots that are kept. */
const MOST_SHOWN = 200;
/** Longer ones are shared while they are read, and not kept: a viewer may have hundreds. */
const LONGEST_KEPT = 100_000;

interface Shown {
  text: Promise<string>;
  /** Infinity: it is being read. */
  until: number;
}

/**
 * What the pages of all viewers show: this process reads it once per second at most, while one of
 * them asks, and not at all while none does.
 */
export class Snapshots {
  private readonly shown = new Map<string, Shown>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Resolves with what was read last under this key, or is read now. Rejects as reading does. */
  of(key: string, read: () => Promise<string>): Promise<string> {
    const found = this.shown.get(key);
    if (found !== undefined && this.now() < found.until) return found.text;
    if (this.shown.size >= MOST_SHOWN) this.forget();
    const shown: Shown = { text: this.timed(read, (ms) => this.keep(shown, ms)), until: Infinity };
    this.shown.set(key, shown);
    const drop = (): void => void (this.shown.get(key) === shown && this.shown.delete(key));
    shown.text.then((text) => text.length > LONGEST_KEPT && drop(), drop);
    return shown.text;
  }

  /** Forgets all: a viewer has changed something, and is shown it. */
  clear(): void {
    this.shown.clear();
  }

  private async timed(read: () => Promise<string>, took: (ms: number) => void): Promise<string> {
    const begun = this.now();
    const text = await read();
    took(this.now() - begun);
    return text;
  }

  private keep(shown: Shown, tookMs: number): void {
    shown.until = this.now() + Math.min(LONGEST_SHOWN_MS, Math.max(SHOWN_MS, TIMES_READING * tookMs));
  }

  private forget(): void {
    for (const [key, { until }] of this.shown) if (until <= this.now()) this.shown.delete(key);
    if (this.shown.size >= MOST_SHOWN) this.shown.clear();
  }
}
