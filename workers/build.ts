import { cpSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isCurrent, keepState } from './buildState';
import { BUNDLE_FILE, bundleSource } from './temporal/bundle';

/**
 * The second half of `npm run build`, run from dist/: what tsc does not copy, and the workflow
 * bundle, unless the one that is there was made of the same.
 */
const root = path.join(__dirname, '..', '..');

const build = async (): Promise<void> => {
  const migrations = path.join(__dirname, '..', 'postgres', 'migrations');
  // One that was renamed or removed since the last build would be a migration that this program
  // waits for.
  rmSync(migrations, { recursive: true, force: true });
  cpSync(path.join(root, 'postgres', 'migrations'), migrations, { recursive: true });
  if (!isCurrent(root, 'bundle')) await writeBundle();
  keepState(root);
};

const writeBundle = async (): Promise<void> => {
  const { bundleWorkflowCode } = await import('@temporalio/worker');
  const quiet = { trace() {}, debug() {}, info() {}, warn: console.warn, error: console.error, log() {} };
  const { code } = await bundleWorkflowCode({ ...bundleSource(), logger: quiet });
  writeFileSync(BUNDLE_FILE, code);
};

build().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
