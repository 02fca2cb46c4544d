import type { Sealer } from '../handlers/codec/sealer';
import { opening } from './openViews';

/**
 * Binds the verbs of a noun to it, so that each of them can be detached and passed on: `const {
 * pause } = muster.lanes`. With a sealer their answers are decoded. Returns the noun.
 */
export const bound = <N extends object>(noun: N, sealer: Sealer | null): N => {
  const { constructor: _, ...verbs } = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(noun));
  for (const [name, { value }] of Object.entries(verbs)) {
    const verb = (value as CallableFunction).bind(noun) as (...given: unknown[]) => unknown;
    Object.assign(noun, { [name]: sealer === null ? verb : opening(sealer, verb) });
  }
  return noun;
};

/**
 * Returns a bound noun that can also be called, as the short form of one of its verbs: `lanes()`
 * for `lanes.list()`.
 */
export const callable = <N extends object, V extends keyof N>(noun: N, verb: V, sealer: Sealer | null): N & N[V] => {
  const whole = bound(noun, sealer);
  const called = (...given: unknown[]): unknown =>
    (whole[verb] as unknown as (...rest: unknown[]) => unknown)(...given);
  return Object.assign(called as unknown as N[V] & object, whole);
};
