import { byCodePoint } from './order';
import type { Seat } from './seats';
import { isAble } from './seats';
import type { PartitionFacts } from './types';

/** Partitions that the same open nodes may have. */
export interface Need {
  index: number;
  /** Indexes of open nodes, ascending. */
  able: readonly number[];
  has: (seat: number) => boolean;
}

/**
 * Finds a partition's constraint. Constraints are compared once for each set of attributes and
 * handler, not once per partition.
 */
export class Needs {
  private readonly byWords = new Map<string, Need>();
  private readonly bySeats = new Map<string, Need>();

  constructor(private readonly open: readonly Seat[]) {}

  get count(): number {
    return this.bySeats.size;
  }

  of(partition: Pick<PartitionFacts, 'attributes' | 'handler'>): Need {
    const words = wordsOf(partition);
    let need = this.byWords.get(words);
    if (need !== undefined) return need;
    need = this.among(this.open.filter(({ process }) => isAble(process, partition)).map(({ index }) => index));
    this.byWords.set(words, need);
    return need;
  }

  /** Returns the constraint of a pinned partition. */
  only(seat: number): Need {
    return this.among([seat]);
  }

  private among(able: number[]): Need {
    const key = able.length === this.open.length ? 'all' : able.join();
    const known = this.bySeats.get(key);
    if (known !== undefined) return known;
    const seats = new Set(able);
    const need = { index: this.bySeats.size, able, has: (seat: number) => seats.has(seat) };
    this.bySeats.set(key, need);
    return need;
  }
}

const wordsOf = ({ attributes, handler }: Pick<PartitionFacts, 'attributes' | 'handler'>): string => {
  const names = Object.keys(attributes);
  if (names.length === 0) return JSON.stringify(handler);
  return JSON.stringify([handler, ...names.sort(byCodePoint).map((name) => [name, attributes[name]])]);
};
