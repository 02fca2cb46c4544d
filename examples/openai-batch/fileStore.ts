import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream, type ReadStream, type WriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Uploaded and produced files, each one file in `dir`. Nothing of them is held in memory. */
export class FileStore {
  constructor(private readonly dir: string) {}

  newId(): string {
    return `file-${randomBytes(12).toString('hex')}`;
  }

  write(id: string): WriteStream {
    return createWriteStream(this.path(id));
  }

  read(id: string): ReadStream {
    return createReadStream(this.path(id), { highWaterMark: 256 * 1024 });
  }

  /** Its size in bytes, undefined where there is no such file. */
  async bytes(id: string): Promise<number | undefined> {
    if (!/^file-[0-9a-f]+$/.test(id)) {
      return undefined;
    }
    return stat(this.path(id)).then(
      ({ size }) => size,
      () => undefined,
    );
  }

  async remove(id: string): Promise<void> {
    await rm(this.path(id), { force: true });
  }

  private path(id: string): string {
    return join(this.dir, id);
  }
}
