import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Returns this package's version, from the package.json above dist/ or beside the sources. */
export const packageVersion = (): string => {
  for (let folder = __dirname; ; folder = path.dirname(folder)) {
    const file = path.join(folder, 'package.json');
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  }
};
