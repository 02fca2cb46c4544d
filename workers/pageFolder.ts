import { existsSync } from 'node:fs';
import path from 'node:path';

/** Folder of the dashboard's files beside its page, and first part of their paths. */
export const ASSETS = 'assets';

/**
 * Returns where `npm run build` puts the dashboard: beside this file, or in dist/ where the sources
 * run as they stand.
 */
export const pageFolder = (): string => {
  const beside = path.join(__dirname, 'dashboard');
  return existsSync(path.join(beside, 'main.tsx'))
    ? path.join(__dirname, '..', 'dist', 'workers', 'dashboard')
    : beside;
};
