import { execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../project';
import { placesWith } from './lock';

/** What `npm install temporal-muster` brings, as the lock file has it: nothing is installed. */
export interface InstalledSize {
  bytes: number;
  packages: number;
}

/** Returns what Muster and these of its optional peers install, `packed` being its own bytes. */
export const installedSize = (peers: readonly string[], packed: number): InstalledSize => {
  const places = placesWith(peers).map((place) => path.join(ROOT, place));
  return { bytes: places.reduce((sum, place) => sum + bytesIn(place), packed), packages: places.length + 1 };
};

/** Returns the bytes of all files that `npm pack` would pack. */
export const packedBytes = async (): Promise<number> => {
  // Without scripts: `prepare` would build dist/ again, which others use meanwhile.
  const pack = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = await promisify(execFile)('npm', pack, { cwd: ROOT, maxBuffer: 16e6 });
  const [{ unpackedSize }] = Object.values(JSON.parse(stdout) as Record<string, { unpackedSize: number }>) as [
    { unpackedSize: number },
  ];
  return unpackedSize;
};

/** What is nested has a place of its own in the lock. 0: not for this platform. */
const bytesIn = (folder: string): number => {
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return 0;
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !(entry.isDirectory() && entry.name === 'node_modules'))
    .map((entry) => [entry, path.join(folder, entry.name)] as const)
    .reduce((sum, [entry, file]) => sum + (entry.isDirectory() ? bytesIn(file) : statSync(file).size), 0);
};
