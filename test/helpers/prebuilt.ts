import path from 'node:path';

/** What the global setup has just built from the same sources: a bundler in each test file is a third of the whole run's work. */
export const prebuiltBundle = { codePath: path.join(__dirname, '..', '..', 'dist', 'workers', 'workflow-bundle.js') };
