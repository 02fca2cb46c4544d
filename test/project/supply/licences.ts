import type { LockedPackage } from './lock';
import { nameAndVersion } from './lock';

/** Which licences the packages that Muster ships with may have. */

/** None of them asks a user of Muster for more than a notice. */
const ALLOWED: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'Unlicense',
]);

/** Judged by hand, for one version each: a newer one is looked at again. */
export const JUDGED: Readonly<Record<string, string>> = {
  // Data of browsers, which webpack has with it; attribution is all that CC-BY-4.0 asks for.
  'caniuse-lite': 'CC-BY-4.0',
  // Its manifest names no licence; its LICENSE file is the Unlicense.
  'unionfs@4.6.0': '',
};

/** Returns one line per package whose licence is not allowed, or is not named. Empty: all are. */
export const refusedLicences = (packages: readonly LockedPackage[]): string[] =>
  packages.flatMap((one) => {
    const licence = one.license ?? '';
    if (JUDGED[nameAndVersion(one)] === licence || JUDGED[one.name] === licence) return [];
    if (isAllowed(licence)) return [];
    return [`${nameAndVersion(one)}: ${licence === '' ? 'names no licence' : licence}`];
  });

/** Says whether an SPDX expression leaves a choice that is allowed: `A AND B`, `(A OR B)`. */
export const isAllowed = (expression: string): boolean => {
  const words = expression.match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;
  const one = (): boolean => {
    const word = words[at++];
    if (word !== '(') return word !== undefined && ALLOWED.has(word);
    const inner = any();
    return words[at++] === ')' && inner;
  };
  const all = (): boolean => {
    let allowed = one();
    while (words[at] === 'AND') {
      at++;
      allowed = one() && allowed;
    }
    return allowed;
  };
  const any = (): boolean => {
    let allowed = all();
    while (words[at] === 'OR') {
      at++;
      allowed = all() || allowed;
    }
    return allowed;
  };
  const allowed = any();
  // What is left, such as `WITH` and its exception, was not understood.
  return allowed && at === words.length;
};
