import { createWriteStream } from 'node:fs';
import { join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { version } from '@temporalio/client/package.json';
import { z } from 'zod';
import { runCommand } from '../commands';
import type { Tool } from './tool';

/**
 * The service that the Temporal SDKs download their servers from, and the SDK version that it
 * chooses them by.
 */
export const DOWNLOAD_BASE = 'https://temporal.download';
export const SDK_VERSION = version;

/**
 * Without a network the next source must have its turn soon; an archive is some 50 MB and may come
 * over a slow line.
 */
const LOOKUP_TIMEOUT_MS = 4_000;
const ARCHIVE_TIMEOUT_MS = 300_000;

const lookupSchema = z.object({ archiveUrl: z.url(), fileToExtract: z.string().min(1) });

/**
 * Downloads `tool` as the SDK does (same address, same two steps) and returns the path of the
 * executable in `workDir`. The service names no checksum, so the transport is what is trusted: an
 * archive must come by https wherever the lookup did.
 */
export async function downloadTool(tool: Tool, base: string, workDir: string, log?: (line: string) => void) {
  const { archiveUrl, fileToExtract } = await lookUp(tool, base);
  if (new URL(archiveUrl).protocol !== new URL(base).protocol) {
    throw new Error(`${base} names an archive at ${archiveUrl}; expected the same protocol`);
  }
  log?.(`${tool.title}: downloading ${archiveUrl}`);
  const archive = join(workDir, 'archive');
  const response = await get(archiveUrl, ARCHIVE_TIMEOUT_MS);
  await pipeline(Readable.fromWeb(response.body as ReadableStream), createWriteStream(archive));
  const extracted = join(workDir, fileToExtract);
  if (relative(workDir, extracted).startsWith('..')) {
    throw new Error(`${base} names the file ${fileToExtract}; expected one inside the archive`);
  }
  const untar = await runCommand('tar', ['-xf', archive, '-C', workDir, fileToExtract], { timeoutMs: 60_000 });
  if (!untar.ok) {
    throw new Error(`${archiveUrl} cannot be unpacked: ${untar.reason}`);
  }
  return extracted;
}

async function lookUp(tool: Tool, base: string) {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const query = new URLSearchParams({ arch, platform, 'sdk-name': 'sdk-typescript', 'sdk-version': SDK_VERSION });
  const response = await get(`${base}/${tool.downloadName}/default?${query.toString()}`, LOOKUP_TIMEOUT_MS);
  return lookupSchema.parse(await response.json());
}

async function get(url: string, timeoutMs: number): Promise<Response> {
  const host = new URL(url).host;
  let response;
  try {
    response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    const { cause, message } = error as Error & { cause?: Error };
    throw new Error(`${host} cannot be reached: ${cause?.message || message}`, { cause: error });
  }
  if (!response.ok) {
    throw new Error(`${host} answered ${response.status}`);
  }
  return response;
}
