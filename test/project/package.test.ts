import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { read, ROOT, trackedFiles } from './project';

/**
 * Build 1, Prove ("npm pack, installed in another empty folder"): what a user gets holds what it
 * needs and nothing of ours.
 *
 * @slow
 */

interface LockedPackage {
  version?: string;
  resolved?: string;
  optionalDependencies?: Record<string, string>;
}
const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockedPackage> };
/** The product's, that of the documentation as a site, and those of projects of their own. */
const LOCKS = [
  'package-lock.json',
  'site/package-lock.json',
  'test/libraries/package-lock.json',
  'test/bench/peers/package-lock.json',
  'test/userProjects/vitest/package-lock.json',
];
const manifest = JSON.parse(read('package.json')) as {
  name: string;
  peerDependencies: Record<string, string>;
  bin: Record<string, string>;
  exports: Record<string, string | Record<string, string>>;
};

test('the packed package is checked by publint and attw', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  expect(scripts['check']).toContain('npm run lint:package');
  expect(scripts['lint:package']).toBe('jiti test/project/supply/checkPackage.ts');
});

test('its name, its command, and the pages that say how to install both', () => {
  expect([manifest.name, manifest.bin]).toEqual(['temporal-muster', { muster: 'bin/muster.js' }]);
  expect(read('README.md')).toContain('`npm install temporal-muster`');
  const { '@temporalio/worker': sdk, 'prom-client': metrics } = manifest.peerDependencies;
  const worker = `@temporalio/worker@${sdk} prom-client@${/\d+/.exec(metrics!)![0]}`;
  expect(read('docs/worker.md')).toContain(`npm install ${worker}`);
});

test('a release is published with its provenance, and the page says where that works', () => {
  const page = read('docs/internals/releasing.md');
  const publishes = page.match(/^npm publish .*$/gm) ?? [];
  expect(publishes.length).toBeGreaterThan(0);
  expect(publishes.filter((line) => !line.includes(' --provenance '))).toEqual([]);
  expect(page).toContain('id-token: write');
});

const packedFiles = async (): Promise<string[]> => {
  // Without scripts: `prepare` would build dist/ again, which the tests that run beside this one
  // use.
  const pack = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = await promisify(execFile)('npm', pack, { cwd: ROOT, maxBuffer: 16e6 });
  const parsed = JSON.parse(stdout) as { files: { path: string }[] }[] | Record<string, { files: { path: string }[] }>;
  return Object.values(parsed).flatMap(({ files }) => files.map((file) => file.path));
};

interface RawMap {
  sources: string[];
  mappings: string;
  sourcesContent?: string[];
}

describe('npm pack', () => {
  let packed: string[];
  beforeAll(async () => {
    packed = await packedFiles();
  });

  test('holds everything that package.json points at, the migrations and the workflow bundle', () => {
    const entries = Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : Object.values(entry),
    );
    const pointed = [...Object.values(manifest.bin), ...entries].map((file) => path.posix.normalize(file));
    const migrations = trackedFiles().filter((file) => /^postgres\/migrations\/.*\.sql$/.test(file));
    expect(migrations.length).toBeGreaterThan(0);
    const run = [
      'dist/workers/workflow-bundle.js',
      'dist/workers/dashboard/index.html',
      'dist/postgres/schemaObjects.json',
      ...migrations.map((file) => `dist/${file}`),
    ];
    const read = ['README.md', 'docs/README.md', 'CHANGELOG.md', 'SECURITY.md', 'LICENSE'];
    expect([...pointed, ...run, ...read].filter((file) => !packed.includes(file))).toEqual([]);
  });

  test('holds neither tests nor examples, nor sources, nor settings of this machine', () => {
    const folders = /^(bin|docs|dist\/(activities|client|handlers|postgres|workers|workflows))\//;
    const alone = ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'LICENSE', 'package.json'];
    expect(packed.filter((file) => !folders.test(file) && !alone.includes(file))).toEqual([]);
    expect(packed.filter((file) => /\.(test|tsbuildinfo)\b|\.env/.test(file))).toEqual([]);
  });

  test('holds no output of a source that is gone', () => {
    const compiled = packed.filter((file) => /\.(js|d\.ts)$/.test(file) && file.startsWith('dist/'));
    const sources = new Set(trackedFiles());
    const made = (file: string): boolean =>
      file === 'dist/workers/workflow-bundle.js' || file.startsWith('dist/workers/dashboard/assets/');
    const sourceOf = (file: string): string => file.replace(/^dist\//, '').replace(/\.(js|d\.ts)$/, '.ts');
    expect(compiled.length).toBeGreaterThan(1_000);
    expect(compiled.filter((file) => !made(file) && !sources.has(sourceOf(file)))).toEqual([]);
  });

  test('holds no source maps: the compiled code reads like its source, and is half as large', () => {
    expect(packed.filter((file) => file.endsWith('.map'))).toEqual([]);
    // Stacks of workflows are read by the places in the bundle's map, not by sources.
    const map = read('dist/workers/workflow-bundle.js').split('sourceMappingURL=').at(-1)!.split('base64,').at(-1)!;
    const { sources, mappings, sourcesContent } = JSON.parse(Buffer.from(map, 'base64').toString()) as RawMap;
    expect([sources.length > 50, mappings.length > 10_000, sourcesContent]).toEqual([true, true, undefined]);
    expect(read('dist/client/index.js')).not.toContain('sourceMappingURL');
  });

  test('links only to what it holds, and to folders and pictures of the repository that are no part of it', () => {
    const pages = packed.filter((file) => file.endsWith('.md'));
    const linked = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\(([^)#\s:]+)(#[^)]*)?\)/g)].map(([, to]) =>
        path.posix.join(path.posix.dirname(page), to!),
      ),
    );
    const isPacked = (to: string): boolean => packed.some((file) => file === to || file.startsWith(`${to}/`));
    const ofRepository = /^(examples|test|deploy|postgres)\/|^CONTRIBUTING\.md$|^docs\/.*\.png$/;
    expect(linked.length).toBeGreaterThan(100);
    expect(linked.filter((to) => !isPacked(to) && !ofRepository.test(to))).toEqual([]);
  });
});

describe('package-lock.json', () => {
  const packages = Object.entries(lock.packages);

  test.each(LOCKS)('%s names no registry', (file) => {
    const { packages: locked } = JSON.parse(read(file)) as typeof lock;
    const resolved = Object.entries(locked).filter(([, one]) => one.resolved !== undefined);
    expect(Object.keys(locked).length).toBeGreaterThan(50);
    expect(resolved.map(([name]) => name)).toEqual([]);
    expect(read(file)).not.toMatch(/https?:\/\/[^"]*\.tgz/);
  });

  test.each(LOCKS)('%s has every package of another platform too: npm ci refuses a lock without one', (file) => {
    const { packages: locked } = JSON.parse(read(file)) as typeof lock;
    const missing = Object.entries(locked).flatMap(([name, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies)
        .filter((optional) => !isLocked(locked, name, optional))
        .map((optional) => `${optional}, of ${name}`),
    );
    expect(missing).toEqual([]);
  });

  test('has one version of all @temporalio packages: a bundle must run on the SDK that made it', () => {
    const versions = packages
      .filter(([name]) => /(^|\/)node_modules\/@temporalio\/[^/]+$/.test(name))
      .map(([, { version }]) => version);
    expect(versions.length).toBeGreaterThan(8);
    expect([...new Set(versions)]).toHaveLength(1);
  });
});

/**
 * Whether `from` (a place such as `node_modules/a/node_modules/b`) would find `name` in the lock,
 * looking upwards as Node does.
 */
const isLocked = (packages: typeof lock.packages, from: string, name: string): boolean => {
  for (let place = from; ; place = place.slice(0, Math.max(0, place.lastIndexOf('node_modules/') - 1))) {
    if (packages[`${place === '' ? '' : `${place}/`}node_modules/${name}`] !== undefined) return true;
    if (place === '') return false;
  }
};

test('all @temporalio packages load the same copy of protobufjs: with two, replay from JSON fails', () => {
  const names = Object.keys(lock.packages).filter((name) => /^node_modules\/@temporalio\/[^/]+$/.test(name));
  const copies = names.map((name) => createRequire(path.join(ROOT, name, 'package.json')).resolve('protobufjs'));
  expect(copies.length).toBeGreaterThan(8);
  expect([...new Set(copies)]).toEqual([createRequire(__filename).resolve('protobufjs')]);
});

test('no tracked file names a path of this machine', () => {
  const home = homedir();
  // A home of `/` or a checkout in `/` would be in every path.
  const ours = [ROOT, ...(home.split('/').length > 1 && home.length > 1 ? [`${home}/`] : [])];
  const files = trackedFiles();
  expect(files).toContain('package.json');
  const naming = files.filter((file) => {
    const full = path.join(ROOT, file);
    if (!statSync(full, { throwIfNoEntry: false })?.isFile()) return false; // deleted, not yet committed
    const text = readFileSync(full, 'latin1');
    return ours.some((place) => text.includes(place));
  });
  expect(naming).toEqual([]);
});
