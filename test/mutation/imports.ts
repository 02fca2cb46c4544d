import { existsSync } from 'node:fs';
import path from 'node:path';
import { read, ROOT } from '../project/project';

/** Of values: a type is gone when code runs. */
const IMPORT =
  /^(?:import|export) (?!type )[^;]*?from '(\.[^']*)'|(?:require|import)\('(\.[^']*)'\)|^import '(\.[^']*)'/gm;

const importsOf = new Map<string, readonly string[]>();
const imports = (file: string): readonly string[] => {
  const known = importsOf.get(file);
  if (known !== undefined) return known;
  const found = [...read(file).matchAll(IMPORT)].flatMap(([, a, b, c]) => {
    const to = path.posix.join(path.posix.dirname(file), (a ?? b ?? c)!);
    return [`${to}.ts`, `${to}/index.ts`].filter((one) => existsSync(path.join(ROOT, one)));
  });
  importsOf.set(file, found);
  return found;
};

/** Returns whether loading a file loads one of the others. */
export const reaches = (file: string, others: ReadonlySet<string>): boolean => {
  const seen = new Set([file]);
  for (const one of seen) {
    if (others.has(one)) return true;
    for (const next of imports(one)) seen.add(next);
  }
  return false;
};
