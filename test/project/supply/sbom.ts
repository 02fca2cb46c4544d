import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { read, ROOT } from '../project';
import type { LockedPackage } from './lock';
import { nameAndVersion, productionPackages } from './lock';

/** A CycloneDX document of what a user of Muster installs, from package-lock.json. */

interface Component {
  'bom-ref': string;
  name: string;
  version: string;
  purl: string;
  licenses?: unknown[];
  hashes?: { alg: string; content: string }[];
}
interface Manifest {
  name: string;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
}
export interface Sbom {
  bomFormat: string;
  specVersion: string;
  metadata: { component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/**
 * Returns the document that npm makes, without what only development needs. npm's own `--omit=dev`
 * leaves out whatever a package of development needs too, the optional peers among it, and names
 * the product after its folder.
 */
export const makeSbom = async (): Promise<Sbom> => {
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--offline'];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: ROOT, maxBuffer: 64e6 });
  return shipped(JSON.parse(stdout) as Sbom, JSON.parse(read('package.json')) as Manifest, productionPackages());
};

/** Returns the document with these packages only, and only with what they depend on. */
const shipped = (whole: Sbom, manifest: Manifest, packages: readonly LockedPackage[]): Sbom => {
  const { name } = manifest;
  const own = { ...manifest.dependencies, ...manifest.peerDependencies };
  const kept = new Set(packages.map(nameAndVersion));
  const components = whole.components.filter((one) => kept.has(nameAndVersion(one)));
  const product = { ...whole.metadata.component, name };
  const ofProduct = new Set(components.filter((one) => one.name in own).map((one) => one['bom-ref']));
  const all = new Set(components.map((one) => one['bom-ref']));
  const needed = (ref: string): Set<string> => (ref === product['bom-ref'] ? ofProduct : all);
  const dependencies = whole.dependencies
    .filter(({ ref }) => all.has(ref) || ref === product['bom-ref'])
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => needed(ref).has(one)) }));
  return { ...whole, metadata: { ...whole.metadata, component: product }, components, dependencies };
};
