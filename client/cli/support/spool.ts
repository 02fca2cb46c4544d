import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import type { WriteStream } from 'node:fs';
import { open, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { MusterError } from '../../errors';

/** A file that can be read several times. */
export interface Staged {
  /** For messages. */
  name: string;
  bytes: number;
  read(): Readable;
  close(): Promise<void>;
}

const CHUNK_BYTES = 256 * 1_024;
// Streams on the descriptor, not on the handle: a handle's close waits for its streams to close it.

/** Opens a file, or stages what comes once only (stdin, a pipe) in a temporary file first. */
export const stage = async (file: string, stdin: Readable = process.stdin): Promise<Staged> => {
  if (file === '-') return spooled('standard input', stdin);
  let handle: FileHandle;
  try {
    handle = await open(file, 'r');
  } catch (error) {
    throw new MusterError(
      'INVALID_FILE',
      `--file: expected a readable file, got ${JSON.stringify(file)}: ${(error as Error).message}`,
      { cause: error },
    );
  }
  const stat = await handle.stat();
  if (stat.isFile()) return staged(file, handle, stat.size);
  if (stat.isDirectory()) {
    await handle.close();
    throw new MusterError('INVALID_FILE', `--file: expected a file, got the directory ${JSON.stringify(file)}`);
  }
  try {
    return await spooled(file, createReadStream('', { fd: handle.fd, autoClose: false }));
  } finally {
    await handle.close();
  }
};

const spooled = async (name: string, input: Readable): Promise<Staged> => {
  const { handle, write } = await scratch();
  await pipeline(input, write);
  return staged(name, handle, (await handle.stat()).size);
};

const staged = (name: string, handle: FileHandle, bytes: number): Staged => ({
  name,
  bytes,
  // Up to the size it had: what is appended meanwhile is not part of this submit.
  read: () =>
    bytes === 0
      ? Readable.from([])
      : createReadStream('', { fd: handle.fd, autoClose: false, start: 0, end: bytes - 1, highWaterMark: CHUNK_BYTES }),
  close: () => handle.close(),
});

/** A file without a name: gone with the process, whatever ends it. */
const scratch = async (): Promise<{ handle: FileHandle; write: WriteStream }> => {
  const name = path.join(tmpdir(), `muster-${randomUUID()}`);
  const handle = await open(name, 'wx+', 0o600);
  await unlink(name);
  return { handle, write: createWriteStream('', { fd: handle.fd, autoClose: false }) };
};

/** Lines written once and read back: ids to wait for, however many they are. */
export class LineSpool {
  count = 0;
  private constructor(
    private readonly handle: FileHandle,
    private readonly stream: WriteStream,
  ) {}

  static async open(): Promise<LineSpool> {
    const { handle, write } = await scratch();
    return new LineSpool(handle, write);
  }

  async add(text: string): Promise<void> {
    this.count++;
    if (!this.stream.write(`${JSON.stringify(text)}\n`)) await once(this.stream, 'drain');
  }

  /** No more is added. */
  async finish(): Promise<Staged> {
    this.stream.end();
    await once(this.stream, 'finish');
    return staged('ids', this.handle, (await this.handle.stat()).size);
  }
}
