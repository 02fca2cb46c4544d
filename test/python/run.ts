import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { processFlags } from '../../examples/support/flags';
import { runToEnd } from '../helpers/runToEnd';
import { ROOT } from '../project/project';

/** `npm run test:python`: submits by SQL from Python, by the drivers that are usual there. */
processFlags(
  {
    name: 'npm run test:python --',
    summary: 'Submits by SQL from Python, by psycopg and pg8000, which pip installs once into a cache.',
    result: 'The tests. Exit code 1 if one fails; 2 without Python 3.10 and pip: then nothing was tried.',
    examples: [''],
  },
  {},
);

const DRIVERS = ['psycopg[binary]==3.3.9', 'pg8000==1.31.6'];

/** Returns the version of Python that there is; null: none of use. */
const pythonVersion = (): string | null => {
  const { stdout, status } = spawnSync(
    'python3',
    ['-c', 'import sys, pip; assert sys.version_info >= (3, 10); print("%d.%d" % sys.version_info[:2])'],
    { encoding: 'utf8' },
  );
  return status === 0 ? stdout.trim() : null;
};

/** Returns the folder with the drivers; a draft is moved there when it is whole. */
const installDrivers = (version: string): string => {
  const cache = path.join(process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'muster');
  // Compiled packages fit one version of Python only.
  const folder = path.join(cache, `python-drivers-${DRIVERS.join('-').replace(/[^\w.]+/g, '-')}-python-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(`${folder}-`);
  try {
    execFileSync('python3', ['-m', 'pip', 'install', '--quiet', '--target', draft, ...DRIVERS], { stdio: 'inherit' });
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
};

runToEnd(async () => {
  const version = pythonVersion();
  if (version === null) {
    process.stderr.write('Cannot test Python: expected python3 of 3.10 or newer with pip, got none. Install it.\n');
    process.exitCode = 2;
    return true;
  }
  const folder = installDrivers(version);
  process.stdout.write(`Python ${version}, ${DRIVERS.join(', ')}:\n`);
  const { status } = spawnSync('npx', ['jest', '--testMatch', '<rootDir>/test/python/*.python.ts'], {
    cwd: ROOT,
    env: { ...process.env, MUSTER_TEST_PYTHON_PACKAGES: folder },
    stdio: 'inherit',
  });
  return status === 0;
});
