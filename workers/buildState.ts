import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** What a build was made of, by name: one hash each. Not part of the package. */
const STATE = path.join('dist', 'build.state.json');

const BUILT_BY = 'tsconfig.build.json';
/** What decides, beside its folders, what becomes of them. */
const MEANS = ['package.json', 'package-lock.json', 'tsconfig.json', BUILT_BY];
/** Written by a build, and of no use to a program. */
const NOTES = new Set([STATE, path.join('dist', 'build.tsbuildinfo')]);

/**
 * The compiled workflows (they import values of packages only, see .dependency-cruiser.cjs), the
 * packages, how the bundle is made, and the bundle itself.
 */
const BUNDLE = [
  'dist/workflows',
  'package-lock.json',
  'dist/workers/build.js',
  'dist/workers/temporal/bundle.js',
  'dist/workers/workflow-bundle.js',
];

const filesOf = (name: string): string[] =>
  statSync(name).isDirectory()
    ? readdirSync(name, { recursive: true, encoding: 'utf8' })
        .sort()
        .map((file) => path.join(name, file))
        .filter((file) => statSync(file).isFile())
    : [name];

type Part = 'sources' | 'bundle';
/** Returns what a part is made of; null: this is no place to build in. */
const namesOf = (root: string, part: Part): readonly string[] | null => {
  if (part === 'bundle') return BUNDLE;
  const file = path.join(root, BUILT_BY);
  if (!existsSync(file)) return null;
  // With the outputs: a build that failed half way has changed those, and its sources may be as
  // before again.
  return [...(JSON.parse(readFileSync(file, 'utf8')) as { include: string[] }).include, ...MEANS, 'dist'];
};

/** Returns one hash over the names and contents of files and folders; null where one is missing. */
const hashOf = (root: string, part: Part): string | null => {
  const names = namesOf(root, part);
  if (names === null) return null;
  const paths = names.map((name) => path.join(root, name));
  if (!paths.every(existsSync)) return null;
  const hash = createHash('sha256');
  for (const file of paths.flatMap(filesOf).filter((one) => !NOTES.has(path.relative(root, one))))
    hash
      .update(`${path.relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0');
  return hash.digest('hex');
};

const read = (root: string): Partial<Record<Part, string | null>> => {
  const file = path.join(root, STATE);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Partial<Record<Part, string | null>>) : {};
};

/**
 * Returns whether a part is as the last build left it, by content: times of files mislead after a
 * checkout or a copy.
 */
export const isCurrent = (root: string, part: Part): boolean => {
  const kept = read(root)[part];
  return kept != null && kept === hashOf(root, part);
};

/** Keeps what the build that has just ended was made of. */
export const keepState = (root: string): void => {
  const state: Record<Part, string | null> = {
    sources: hashOf(root, 'sources'),
    bundle: hashOf(root, 'bundle'),
  };
  writeFileSync(path.join(root, STATE), `${JSON.stringify(state)}\n`);
};
