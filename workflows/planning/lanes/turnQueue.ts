import type { Strategy, Turn } from './strategies';

interface Place<T> {
  turn: Turn;
  item: T;
}

/**
 * A priority queue of lanes by turn. It is a binary heap, so that a grant takes time logarithmic in
 * the number of given lanes.
 */
export class TurnQueue<T> {
  private readonly places: Place<T>[] = [];

  constructor(private readonly compare: Strategy['compare']) {}

  add(turn: Turn, item: T): void {
    let at = this.places.length;
    const place = { turn, item };
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.compare(this.places[parent]!.turn, turn) <= 0) break;
      this.places[at] = this.places[parent]!;
      at = parent;
    }
    this.places[at] = place;
  }

  take(): Place<T> | null {
    const first = this.places[0];
    const last = this.places.pop();
    if (first === undefined || last === undefined) return null;
    if (this.places.length > 0) this.sink(last);
    return first;
  }

  private sink(place: Place<T>): void {
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= this.places.length) break;
      const right = left + 1;
      const isRightFirst =
        right < this.places.length && this.compare(this.places[right]!.turn, this.places[left]!.turn) < 0;
      const child = isRightFirst ? right : left;
      if (this.compare(this.places[child]!.turn, place.turn) >= 0) break;
      this.places[at] = this.places[child]!;
      at = child;
    }
    this.places[at] = place;
  }
}
