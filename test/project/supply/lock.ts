import { read } from '../project';

/** package-lock.json as far as the tests of what is shipped need it. */

export interface LockedPackage {
  name: string;
  version: string;
  /** Absent: its manifest names none. */
  license?: string;
  integrity?: string;
}

interface Place {
  version: string;
  license?: string;
  integrity?: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}
interface Lock {
  packages: Record<string, Place>;
}

const NESTED = 'node_modules/';

/**
 * Returns each package that a user of Muster may install, once per version, sorted by name: what
 * the dependencies and the optional peers bring. npm marks the peers as development here.
 */
export const productionPackages = (lock = readLock()): LockedPackage[] => {
  const found = new Map<string, LockedPackage>();
  for (const place of placesWith(Object.keys(lock.packages['']!.peerDependencies ?? {}), lock)) {
    const name = place.slice(place.lastIndexOf(NESTED) + NESTED.length);
    const { version, license, integrity } = lock.packages[place]!;
    found.set(nameAndVersion({ name, version }), {
      name,
      version,
      ...(license === undefined ? {} : { license }),
      ...(integrity === undefined ? {} : { integrity }),
    });
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
};

/** Returns the places in `node_modules` of what Muster and these of its peers install. */
export const placesWith = (peers: readonly string[], lock = readLock()): string[] => {
  const places = new Set<string>();
  const open = [''];
  for (let place = open.pop(); place !== undefined; place = open.pop())
    for (const name of [...neededBy(lock.packages[place]!, place === ''), ...(place === '' ? peers : [])]) {
      const next = placeOf(lock, place, name);
      if (next === null || places.has(next)) continue;
      places.add(next);
      open.push(next);
    }
  return [...places];
};

const readLock = (): Lock => JSON.parse(read('package-lock.json')) as Lock;

/** Of other packages, the peers that must be there, too: of Muster's, all are optional. */
const neededBy = (
  { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} }: Place,
  isProduct: boolean,
): string[] => {
  const peers = Object.keys(peerDependencies).filter(
    (name) => !isProduct && peerDependenciesMeta[name]?.optional !== true,
  );
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
};

/** Where Node finds a package from a place: there, or in a folder above it; null: nowhere. */
const placeOf = ({ packages }: Lock, from: string, name: string): string | null => {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf(NESTED) - 1))) {
    const place = `${folder === '' ? '' : `${folder}/`}${NESTED}${name}`;
    if (packages[place] !== undefined) return place;
    if (folder === '') return null;
  }
};

export const nameAndVersion = ({ name, version }: Pick<LockedPackage, 'name' | 'version'>): string =>
  `${name}@${version}`;
