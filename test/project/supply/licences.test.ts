import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { read, ROOT } from '../project';
import { isAllowed, JUDGED, refusedLicences } from './licences';
import { nameAndVersion, productionPackages } from './lock';

/** The licences of what a user of Muster installs. */

const made = (license?: string) => [
  { name: 'made-up', version: '1.0.0', ...(license === undefined ? {} : { license }) },
];

test('every production package has a licence that is allowed', () => {
  expect(productionPackages().length).toBeGreaterThan(100);
  expect(refusedLicences(productionPackages())).toEqual([]);
});

test.each([
  ['AGPL-3.0-only', 'made-up@1.0.0: AGPL-3.0-only'],
  ['SEE LICENSE IN LICENSE', 'made-up@1.0.0: SEE LICENSE IN LICENSE'],
  ['CC-BY-4.0', 'made-up@1.0.0: CC-BY-4.0'],
  [undefined, 'made-up@1.0.0: names no licence'],
])('a package under %s is refused, by name', (license, line) => {
  expect(refusedLicences(made(license))).toEqual([line]);
});

test.each([
  ['MIT', true],
  ['Apache-2.0 AND MIT', true],
  ['(MIT OR GPL-3.0-only)', true],
  ['MIT AND GPL-3.0-only', false],
  ['GPL-3.0-only AND MIT', false],
  ['MIT AND (GPL-3.0-only OR ISC)', true],
  ['(MIT AND (GPL-3.0-only OR LGPL-3.0-only))', false],
  ['Apache-2.0 WITH LLVM-exception', false],
  ['(MIT', false],
  ['MIT)', false],
  ['', false],
])('the expression "%s" is allowed: %s', (expression, allowed) => {
  expect(isAllowed(expression)).toBe(allowed);
});

test('what was judged by hand is still there, and is what was judged', () => {
  const packages = productionPackages();
  const known = new Set(packages.flatMap((one) => [one.name, nameAndVersion(one)]));
  expect(Object.keys(JUDGED).filter((name) => !known.has(name))).toEqual([]);
  expect(readFileSync(path.join(ROOT, 'node_modules/unionfs/LICENSE'), 'utf8')).toMatch(
    /free and unencumbered software released into the public domain/,
  );
});

test('the lock file names the licences that the installed packages name', () => {
  const lock = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { license?: string; dev?: boolean }>;
  };
  const differing = Object.entries(lock.packages).flatMap(([place, { license, dev }]) => {
    const manifest = path.join(ROOT, place, 'package.json');
    if (place === '' || dev === true || !existsSync(manifest)) return [];
    const named = (JSON.parse(readFileSync(manifest, 'utf8')) as { license?: unknown }).license;
    return typeof named === 'string' && named !== license ? [`${place}: ${named}, in the lock ${license}`] : [];
  });
  expect(differing).toEqual([]);
});

test('npm run check includes it, and it needs no network', async () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  expect(scripts['check']).toContain('npm run lint:licences');
  const [program = '', ...args] = scripts['lint:licences']!.split(' ');
  const env = { ...process.env, npm_config_registry: 'http://127.0.0.1:9' };
  const { stdout } = await promisify(execFile)(path.join(ROOT, 'node_modules/.bin', program), args, { cwd: ROOT, env });
  expect(stdout).toMatch(/^\d+ production packages, each with a licence that is allowed\n$/);
});
