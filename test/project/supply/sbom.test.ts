import { read, trackedFiles } from '../project';
import { nameAndVersion, productionPackages } from './lock';
import type { Sbom } from './sbom';
import { makeSbom } from './sbom';

/** `npm run sbom`: what a user of Muster installs, as CycloneDX. */

let sbom: Sbom;
beforeAll(async () => {
  sbom = await makeSbom();
});

test('it is a CycloneDX document of this product, made by npm without a network', () => {
  expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: expect.stringMatching(/^1\.[5-9]$/) });
  const { name, version } = JSON.parse(read('package.json')) as { name: string; version: string };
  expect(sbom.metadata.component).toMatchObject({ name, version, purl: `pkg:npm/${name}@${version}` });
});

test('it has every production package of the lock file, and no other', () => {
  const found = sbom.components.map(nameAndVersion).sort();
  expect(found).toEqual(productionPackages().map(nameAndVersion).sort());
  // The first is an optional peer; the second is for development only.
  expect(sbom.components.map(({ name }) => name)).toContain('@temporalio/worker');
  expect(sbom.components.map(({ name }) => name)).not.toContain('jest');
});

test('each package has its licence, and the hash that the lock file has', () => {
  const without = sbom.components.filter(({ licenses = [] }) => licenses.length === 0).map(nameAndVersion);
  expect(without).toEqual(['unionfs@4.6.0']);
  const hashes = new Map(sbom.components.map((one) => [nameAndVersion(one), one.hashes?.[0]?.content]));
  const locked = productionPackages().map((one) => [nameAndVersion(one), hexOf(one.integrity!)]);
  expect(Object.fromEntries(hashes)).toEqual(Object.fromEntries(locked));
});
const hexOf = (integrity: string): string => Buffer.from(integrity.replace(/^sha\d+-/, ''), 'base64').toString('hex');

test('what depends on what: all of it is in the document, the product needs what package.json names', () => {
  const refs = new Set([sbom.metadata.component, ...sbom.components].map((one) => one['bom-ref']));
  expect(sbom.dependencies.flatMap(({ dependsOn }) => dependsOn.filter((ref) => !refs.has(ref)))).toEqual([]);
  const { dependencies, peerDependencies } = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;
  const own = sbom.dependencies.find(({ ref }) => ref === sbom.metadata.component['bom-ref'])!;
  expect(own.dependsOn.map((ref) => ref.replace(/@[^@]*$/, '')).sort()).toEqual(
    Object.keys({ ...dependencies, ...peerDependencies }).sort(),
  );
});

test('the file that it writes is not committed', () => {
  expect(read('.gitignore').split('\n')).toContain('sbom.cdx.json');
  expect(trackedFiles()).not.toContain('sbom.cdx.json');
});
