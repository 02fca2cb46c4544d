import { randomUUID } from 'node:crypto';
import { open, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MusterError } from '../../errors';
import type { Session } from './session';

/** A file that can be read several times. */
export interface Staged {
  /** The name for messages. */
  name: string;
  bytes: number;
  read(): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

const CHUNK_BYTES = 256 * 1_024;

/**
 * Opens a file. An input that can be read only once (stdin, a pipe) is first copied to a temporary
 * file.
 */
export const stage = async (session: Session, file: string): Promise<Staged> => {
  if (file === '-') return spooled('standard input', session.input(file));
  const handle = await opened(file, session.path(file));
  const stat = await handle.stat();
  if (stat.isFile()) return staged(file, handle, stat.size);
  try {
    if (stat.isDirectory())
      throw new MusterError('INVALID_FILE', `--file: expected a file, got the directory ${JSON.stringify(file)}`);
    return await spooled(file, chunksOf(handle, null));
  } finally {
    await handle.close();
  }
};

const opened = async (file: string, fullName: string): Promise<FileHandle> => {
  try {
    return await open(fullName, 'r');
  } catch (error) {
    const message = `--file: expected a readable file, got ${JSON.stringify(file)}: ${(error as Error).message}`;
    throw new MusterError('INVALID_FILE', message, { cause: error });
  }
};

const spooled = async (name: string, input: AsyncIterable<Buffer>): Promise<Staged> => {
  const handle = await scratch();
  let bytes = 0;
  for await (const chunk of input) {
    await handle.appendFile(chunk);
    bytes += chunk.length;
  }
  return staged(name, handle, bytes);
};

// Reads up to the size that the file had when it was opened: what is appended later is not part of
// this submit.
const staged = (name: string, handle: FileHandle, bytes: number): Staged => ({
  name,
  bytes,
  read: () => chunksOf(handle, bytes),
  close: () => handle.close(),
});

/**
 * Reads `bytes` bytes by position, so that they can be read again; null: reads to the end, once.
 * This is no stream, since leaving a stream early closes the file.
 */
async function* chunksOf(handle: FileHandle, bytes: number | null): AsyncGenerator<Buffer> {
  for (let at = 0; bytes === null || at < bytes;) {
    const size = Math.min(CHUNK_BYTES, (bytes ?? Infinity) - at);
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(size), 0, size, bytes === null ? null : at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Opens a temporary file without a name, which disappears with the process, however that ends. */
const scratch = async (): Promise<FileHandle> => {
  const name = path.join(tmpdir(), `muster-${randomUUID()}`);
  const handle = await open(name, 'wx+', 0o600);
  await unlink(name);
  return handle;
};

/**
 * Texts that are written once and read back as JSON lines: any number of ids to wait for, outside
 * of memory.
 */
export class LineSpool {
  count = 0;
  private bytes = 0;
  private waiting = '';
  private constructor(private readonly handle: FileHandle) {}

  static async open(): Promise<LineSpool> {
    return new LineSpool(await scratch());
  }

  async add(text: string): Promise<void> {
    this.count++;
    this.waiting += `${JSON.stringify(text)}\n`;
    if (this.waiting.length >= CHUNK_BYTES) await this.flush();
  }

  /** Ends the writing, and returns the file to read. */
  async finish(): Promise<Staged> {
    await this.flush();
    return staged('ids', this.handle, this.bytes);
  }

  close(): Promise<void> {
    return this.handle.close();
  }

  private async flush(): Promise<void> {
    const chunk = Buffer.from(this.waiting);
    this.waiting = '';
    await this.handle.appendFile(chunk);
    this.bytes += chunk.length;
  }
}
