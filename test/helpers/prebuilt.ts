import { existsSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '..', '..');
/** Beside us where we run from dist/ ourselves. */
const built = ['workers', 'dist/workers'].map((folder) => path.join(root, folder, 'workflow-bundle.js'));

/**
 * What the global setup has just built from the same sources: a bundler in each test file is a
 * third of the whole run's work.
 */
export const prebuiltBundle = { codePath: built.find((file) => existsSync(file)) ?? built[1]! };
