import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** moto is a server that speaks the SQS protocol; Flask is what it serves with. */
const PACKAGES = ['moto==5.2.5', 'flask==3.1.3', 'flask-cors==6.0.5'];
const INSTALL_MS = 300_000;

export interface Moto {
  python: string;
  /** Goes into PYTHONPATH. */
  packages: string;
}

/**
 * The installed moto server: on first use `pip install --target` into the user's cache (about 115
 * MB, 15 s), later from there. `--target` needs no venv, no root, and leaves the machine's own
 * Python packages alone.
 * @throws Error naming what is missing: Python 3.10 or newer with pip, or the package registry.
 */
export async function installMoto(cache = defaultCache()): Promise<Moto> {
  const { python, version } = await findPython();
  // Compiled packages fit one version of Python only.
  const packages = join(cache, `moto-5.2.5-python-${version}`);
  if (existsSync(packages)) {
    return { python, packages };
  }
  process.stderr.write(`installing ${PACKAGES.join(' ')} into ${packages} (once)\n`);
  await mkdir(dirname(packages), { recursive: true });
  const draft = await mkdtemp(`${packages}-`);
  try {
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', draft, ...PACKAGES];
    await run(python, pip, { timeout: INSTALL_MS }).catch((error: unknown) => {
      throw new Error(`moto: pip could not install it: ${stderrOf(error)}`);
    });
    await rename(draft, packages).catch((error: unknown) => {
      if (!existsSync(packages)) {
        throw error;
      } // else another process was faster, and its copy is as good
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return { python, packages };
}

function defaultCache(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'muster', 'examples');
}

async function findPython(): Promise<{ python: string; version: string }> {
  const seen: string[] = [];
  for (const python of ['python3', 'python']) {
    const probe = 'import sys, pip; print("%d.%d" % sys.version_info[:2])';
    const version = await run(python, ['-c', probe]).then(
      ({ stdout }) => stdout.trim(),
      (error: unknown) => `not usable (${stderrOf(error)})`,
    );
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major === 3 && minor >= 10) {
      return { python, version };
    }
    seen.push(`${python}: ${version}`);
  }
  throw new Error(`moto: expected Python 3.10 or newer with pip on PATH, got ${seen.join('; ')}`);
}

function stderrOf(error: unknown): string {
  const stderr = (error as { stderr?: string }).stderr?.trim();
  return (stderr || String(error)).slice(-2_000);
}
