/**
 * How long a row of `dispatch` counts after its last sign of life, whatever its leader's lease: a
 * leader may be late with its turn while its calls are in flight. A dispatch gives a sign every
 * second and makes no call without a recent one; after this long a dead one's slots are free.
 */
export const DISPATCH_LIFE_MS = 15_000;

/** Holds where dispatch `d` lives. */
export const ALIVE = `d.seen_at > clock() - interval '${DISPATCH_LIFE_MS} ms'`;
