import path from 'node:path';
import type { BundleOptions } from '@temporalio/worker';
import type { TemporalPlugs } from './plugs';

/**
 * Built by `npm run build`, so that a worker starts without a bundler (and a container needs none).
 */
export const BUNDLE_FILE = path.join(__dirname, '..', 'workflow-bundle.js');
const WORKFLOWS_PATH = path.join(__dirname, '..', '..', 'workflows');

/** Used by workflows (and bundled with them) and by activities. */
export const PAYLOAD_CONVERTER_PATH = require.resolve(path.join(WORKFLOWS_PATH, 'payloads', 'payloadConverter'));
const READABLE_INPUT = require.resolve(path.join(WORKFLOWS_PATH, 'payloads', 'readableInput'));

/** Returns what `bundleWorkflowCode` makes our bundle of. */
export const bundleSource = ({ dataConverter, interceptors }: TemporalPlugs = {}) => ({
  workflowsPath: require.resolve(WORKFLOWS_PATH),
  payloadConverterPath: dataConverter?.payloadConverterPath ?? PAYLOAD_CONVERTER_PATH,
  failureConverterPath: dataConverter?.failureConverterPath,
  workflowInterceptorModules: [READABLE_INPUT, ...(interceptors?.workflowModules ?? [])],
  webpackConfigHook: withOneSdk,
});

/**
 * Says whether workflows run with code of the user's: a codec does not, it runs outside of them.
 */
export const changesWorkflows = ({ dataConverter, interceptors }: TemporalPlugs): boolean =>
  dataConverter?.payloadConverterPath !== undefined ||
  dataConverter?.failureConverterPath !== undefined ||
  (interceptors?.workflowModules ?? []).length > 0;

/**
 * Gives a user's modules our copy of the SDK: with two, cancellation scopes and errors of one are
 * strangers to the other.
 */
const withOneSdk: NonNullable<BundleOptions['webpackConfigHook']> = (config) => ({
  ...config,
  resolve: {
    ...config.resolve,
    alias: { ...config.resolve?.alias, ...ONE_SDK },
  },
});
const ONE_SDK = Object.fromEntries(
  ['@temporalio/workflow', '@temporalio/common'].map((name) => [
    name,
    path.dirname(require.resolve(`${name}/package.json`)),
  ]),
);
