/** A binary heap: the item that comes first by `before` is on top. */
export class Heap<T> {
  private readonly all: T[] = [];

  constructor(private readonly before: (one: T, other: T) => boolean) {}

  top(): T | undefined {
    return this.all[0];
  }

  push(one: T): void {
    const { all, before } = this;
    let at = all.push(one) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!before(one, all[above]!)) break;
      all[at] = all[above]!;
      at = above;
    }
    all[at] = one;
  }

  pop(): T | undefined {
    const { all } = this;
    const top = all[0];
    const last = all.pop();
    if (last !== undefined && all.length > 0) this.sink(last);
    return top;
  }

  private sink(one: T): void {
    const { all, before } = this;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= all.length) break;
      if (below + 1 < all.length && before(all[below + 1]!, all[below]!)) below++;
      if (!before(all[below]!, one)) break;
      all[at] = all[below]!;
      at = below;
    }
    all[at] = one;
  }
}
