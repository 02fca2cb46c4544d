import { execFile } from 'node:child_process';
import { linkSync, mkdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../project/project';

const PROJECTS = path.join(ROOT, 'test', 'userProjects');
const PACKAGE = 'temporal-muster';

/**
 * Puts the package into a project's `node_modules` as npm would: the files that `npm pack` packs,
 * linked and not copied. What they need is found further up, in the repository's `node_modules`.
 * `project`: a folder, or the name of one here.
 */
export const installPackage = async (project: string): Promise<string> => {
  const folder = path.resolve(PROJECTS, project);
  const target = path.join(folder, 'node_modules', PACKAGE);
  const pack = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = await promisify(execFile)('npm', pack, { cwd: ROOT, maxBuffer: 16e6 });
  const packed = JSON.parse(stdout) as { files: { path: string }[] }[] | Record<string, { files: { path: string }[] }>;
  rmSync(target, { recursive: true, force: true });
  for (const { path: file } of Object.values(packed).flatMap(({ files }) => files)) {
    mkdirSync(path.dirname(path.join(target, file)), { recursive: true });
    linkSync(path.join(ROOT, file), path.join(target, file));
  }
  return folder;
};

const modifiedMs = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/**
 * Installs what a project's own lock file names, unless it is there; the cache of npm is asked
 * before the registry. Install the package after it: `npm ci` begins with an empty folder.
 */
export const installLocked = async (project: string): Promise<void> => {
  const folder = path.resolve(PROJECTS, project);
  const installed = path.join(folder, 'node_modules', '.package-lock.json');
  if (modifiedMs(installed) >= modifiedMs(path.join(folder, 'package-lock.json'))) return;
  const ci = ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
  await promisify(execFile)('npm', ci, { cwd: folder });
};
