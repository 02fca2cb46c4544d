import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { NativeConnection, WorkflowBundleOption } from '@temporalio/worker';
import { packageVersion } from '../../client/version';
import { BUNDLE_FILE } from './bundle';

/**
 * Two versions of the worker side by side: leaders stay on the one they began with until they
 * continue as new.
 */
export interface Versioning {
  deploymentName: string;
  buildId: string;
}

/**
 * Returns a build id that changes with the workflow code, a user's converters and interceptors in
 * it included, and with nothing else: `0.1.0-4f2a91c0d3e7`.
 */
export const defaultBuildId = (bundle: WorkflowBundleOption = { codePath: BUNDLE_FILE }): string => {
  const version = packageVersion();
  if ('codePath' in bundle && !existsSync(bundle.codePath)) return version;
  const code = 'codePath' in bundle ? readFileSync(bundle.codePath) : bundle.code;
  return `${version}-${createHash('sha256').update(code).digest('hex').slice(0, 12)}`;
};

/**
 * Makes new workflow runs go to this version from now on. The server knows it only once a worker of
 * it has polled: tried again meanwhile.
 */
export const setCurrentVersion = async (
  connection: NativeConnection,
  namespace: string,
  { deploymentName, buildId }: Versioning,
  identity: string,
): Promise<void> => {
  const deadline = performance.now() + 30_000;
  for (;;) {
    try {
      await connection.workflowService.setWorkerDeploymentCurrentVersion({
        namespace,
        deploymentName,
        buildId,
        identity,
      });
      return;
    } catch (error) {
      if (performance.now() > deadline)
        throw new Error(
          `versioning: "${deploymentName}" build "${buildId}" could not be made the current version: ${(error as Error).message}`,
          { cause: error },
        );
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
};
