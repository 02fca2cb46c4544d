/**
 * Binds the verbs of a noun to it, so that each of them can be detached and passed on: `const {
 * pause } = muster.lanes`. Returns the noun.
 */
export const bound = <N extends object>(noun: N): N => {
  const { constructor: _, ...verbs } = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(noun));
  for (const [name, { value }] of Object.entries(verbs))
    Object.assign(noun, { [name]: (value as CallableFunction).bind(noun) });
  return noun;
};

/**
 * Returns a bound noun that can also be called, as the short form of one of its verbs: `lanes()`
 * for `lanes.list()`.
 */
export const callable = <N extends object, V extends keyof N>(noun: N, verb: V): N & N[V] => {
  const called = (noun[verb] as CallableFunction).bind(noun) as unknown as N[V] & object;
  return Object.assign(called, bound(noun));
};
