import { join } from 'node:path';

const root = join(__dirname, '..', '..');

/** A compiled file, such as `examples/demo/downstream.js`; the global setup has built dist/. */
export function distPath(path: string): string {
  return join(process.env['MUSTER_TEST_DIST'] ?? join(root, 'dist'), path);
}

/** A file of the checkout, such as `examples/sqs/tasks.ndjson`. */
export function sourcePath(path: string): string {
  return join(root, path);
}
