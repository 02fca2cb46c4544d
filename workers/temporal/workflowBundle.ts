import { existsSync } from 'node:fs';
import { bundleWorkflowCode } from '@temporalio/worker';
import type { Logger as SdkLogger, WorkflowBundleOption } from '@temporalio/worker';
import type { Logger } from 'pino';
import { MusterError } from '../../client/errors';
import { BUNDLE_FILE, bundleSource, changesWorkflows } from './bundle';
import type { TemporalPlugs } from './plugs';

/**
 * Returns the workflows of a worker: the prebuilt bundle if there is one, unless the user plugs
 * code into them; then (and when running from TypeScript in tests) they are bundled now, which
 * takes some seconds. Throws a `MusterError` if that fails.
 */
export const workflowBundle = async (plugs: TemporalPlugs, log: Logger): Promise<WorkflowBundleOption> => {
  const isOwn = changesWorkflows(plugs);
  if (!isOwn && existsSync(BUNDLE_FILE)) return { codePath: BUNDLE_FILE };
  const { dataConverter, interceptors } = plugs;
  if (isOwn)
    log.info(
      { ...dataConverter, payloadCodecs: undefined, workflowModules: interceptors?.workflowModules },
      'bundling the workflows with the converters and interceptors of the config, which takes some seconds at each start',
    );
  try {
    return await bundleWorkflowCode({ ...bundleSource(plugs), logger: sdkLogger(log) });
  } catch (error) {
    if (!isOwn) throw error;
    throw new MusterError(
      'INVALID_SETTINGS',
      `Cannot bundle the workflows with temporal.interceptors.workflowModules, payloadConverterPath and failureConverterPath: ${(error as Error).message}. The log above names the module.`,
      { cause: error },
    );
  }
};

/** The bundler's messages on success interest a developer only. */
const sdkLogger = (log: Logger): SdkLogger => {
  const quiet = (message: string): void => log.debug(message);
  const loud = (message: string): void => log.error(message);
  return {
    log: (level, message) => (level === 'ERROR' ? loud(message) : quiet(message)),
    trace: quiet,
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: loud,
  };
};
