import { setTimeout as sleep } from 'node:timers/promises';
import { randomOf } from '../../../chaos/random';

/** What happens by chance, from a seed, and how often each of it did. */
export class Dice {
  readonly random: () => number;
  readonly done: Record<string, number> = {};
  /** Off while everything is to end. */
  wild = true;

  constructor(seed: number) {
    this.random = randomOf(seed);
  }

  chance(p: number, what?: string): boolean {
    if (!this.wild || this.random() >= p) return false;
    if (what !== undefined) this.done[what] = (this.done[what] ?? 0) + 1;
    return true;
  }
  pick<T>(of: readonly T[]): T {
    return of[Math.floor(this.random() * of.length)]!;
  }
  delay(most: number): Promise<void> {
    return sleep(this.random() * most);
  }
}
