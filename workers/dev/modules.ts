import { createRequire } from 'node:module';
import path from 'node:path';

/** Where this program's own modules are. */
const OWN = path.resolve(__dirname, '..', '..') + path.sep;
const { cache, main } = createRequire(__filename);

/** Returns the loaded modules that are the user's: of no package, and not of this program. */
export const userModules = (): string[] =>
  Object.keys(cache).filter(
    (file) =>
      path.isAbsolute(file) &&
      !file.includes(`${path.sep}node_modules${path.sep}`) &&
      !file.startsWith(OWN) &&
      file !== main?.filename,
  );

/** Forgets modules, so that they are read again when they are imported again. */
export const forget = (files: readonly string[]): void => {
  for (const file of files) delete cache[file];
};
