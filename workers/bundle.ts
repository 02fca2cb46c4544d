import { existsSync } from 'node:fs';
import path from 'node:path';
import type { WorkerOptions } from '@temporalio/worker';

/** Built by `npm run build`, so that a worker starts without a bundler (and a container needs none). */
export const BUNDLE_FILE = path.join(__dirname, 'workflow-bundle.js');
export const WORKFLOWS_PATH = path.join(__dirname, '..', 'workflows');

/** Of workflows (it is bundled with them) and of activities. */
export const PAYLOAD_CONVERTER_PATH = require.resolve(path.join(WORKFLOWS_PATH, 'payloadConverter'));

/** What `bundleWorkflowCode` makes our bundle of. */
export const bundleSource = () => ({
  workflowsPath: require.resolve(WORKFLOWS_PATH),
  payloadConverterPath: PAYLOAD_CONVERTER_PATH,
});

/** The prebuilt bundle where there is one, else the sources beside us (running from TypeScript in tests). */
export const workflowSource = (): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> =>
  existsSync(BUNDLE_FILE)
    ? { workflowBundle: { codePath: BUNDLE_FILE } }
    : { workflowsPath: require.resolve(WORKFLOWS_PATH) };
