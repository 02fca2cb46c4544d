import { read } from '../project';

/** package-lock.json as far as the tests of what is shipped need it. */

export interface LockedPackage {
  name: string;
  version: string;
  /** Absent: its manifest names none. */
  license?: string;
  integrity?: string;
}

interface Lock {
  packages: Record<string, { version: string; license?: string; integrity?: string; dev?: boolean }>;
}

const NESTED = 'node_modules/';

/** Returns each package that a user of Muster installs, once per version, sorted by name. */
export const productionPackages = (lock = JSON.parse(read('package-lock.json')) as Lock): LockedPackage[] => {
  const found = new Map<string, LockedPackage>();
  for (const [place, { version, license, integrity, dev }] of Object.entries(lock.packages)) {
    if (place === '' || dev === true) continue;
    const name = place.slice(place.lastIndexOf(NESTED) + NESTED.length);
    found.set(nameAndVersion({ name, version }), {
      name,
      version,
      ...(license === undefined ? {} : { license }),
      ...(integrity === undefined ? {} : { integrity }),
    });
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
};

export const nameAndVersion = ({ name, version }: Pick<LockedPackage, 'name' | 'version'>): string =>
  `${name}@${version}`;
