import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** What a build was made of, by name: one hash each. Not part of the package. */
const STATE = path.join('dist', 'build.state.json');

/** The folders of tsconfig.build.json, and what else decides what becomes of them. */
const SOURCES = ['workflows', 'handlers', 'activities', 'postgres', 'workers', 'client', 'examples', 'test'];
const MEANS = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];

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

/** Returns one hash over the names and contents of files and folders; null where one is missing. */
const hashOf = (root: string, names: readonly string[]): string | null => {
  const paths = names.map((name) => path.join(root, name));
  if (!paths.every(existsSync)) return null;
  const hash = createHash('sha256');
  for (const file of paths.flatMap(filesOf))
    hash
      .update(`${path.relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0');
  return hash.digest('hex');
};

type Part = 'sources' | 'bundle';
const NAMES: Readonly<Record<Part, readonly string[]>> = { sources: [...SOURCES, ...MEANS], bundle: BUNDLE };

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
  return kept != null && kept === hashOf(root, NAMES[part]);
};

/** Keeps what the build that has just ended was made of. */
export const keepState = (root: string): void => {
  const state: Record<Part, string | null> = {
    sources: hashOf(root, NAMES.sources),
    bundle: hashOf(root, NAMES.bundle),
  };
  writeFileSync(path.join(root, STATE), `${JSON.stringify(state)}\n`);
};
