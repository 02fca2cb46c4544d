import { ERRNO } from './errno';
import type { GuestMemory } from './memory';
import type { Output } from './output';

/** What a descriptor leads to: the empty input, or an output. There is nothing else to open. */
export interface Stream {
  output: Output | null;
  flags: number;
}

const RIGHT = {
  read: 1n << 1n,
  seek: 1n << 2n,
  setFlags: 1n << 3n,
  tell: 1n << 5n,
  write: 1n << 6n,
  stat: 1n << 21n,
  poll: 1n << 27n,
};
/**
 * With the rights to seek and tell a C library takes a character device for something other than a
 * terminal, so that it writes in blocks. Both fail.
 */
const OF_ALL = RIGHT.seek | RIGHT.tell | RIGHT.setFlags | RIGHT.stat | RIGHT.poll;
const CHARACTER_DEVICE = 2;
/** Append, dsync, nonblock, rsync, sync. */
const FLAGS = 0x1f;
const FDSTAT_BYTES = 24;
const FILESTAT_BYTES = 64;

/** The descriptors of one run: 0 to 2 at its start. Closing one closes nothing else. */
export class Descriptors {
  private readonly open: Map<number, Stream>;

  constructor(stdout: Output, stderr: Output) {
    this.open = new Map([null, stdout, stderr].map((output, fd) => [fd, { output, flags: 0 }]));
  }

  get(fd: number): Stream | undefined {
    return this.open.get(fd >>> 0);
  }

  /** Returns what a function answers that cannot work on a stream: `errno`, if there is one. */
  refuse(fd: number, errno: number): number {
    return this.get(fd) === undefined ? ERRNO.badf : errno;
  }

  close(fd: number): number {
    return this.open.delete(fd >>> 0) ? ERRNO.success : ERRNO.badf;
  }

  renumber(from: number, to: number): number {
    const stream = this.get(from);
    if (stream === undefined || this.get(to) === undefined) return ERRNO.badf;
    this.open.delete(from >>> 0);
    this.open.set(to >>> 0, stream);
    return ERRNO.success;
  }

  setFlags(fd: number, flags: number): number {
    const stream = this.get(fd);
    if (stream === undefined) return ERRNO.badf;
    if ((flags & ~FLAGS) !== 0) return ERRNO.inval;
    stream.flags = flags;
    return ERRNO.success;
  }

  describe(fd: number, memory: GuestMemory, at: number): number {
    const stream = this.get(fd);
    if (stream === undefined) return ERRNO.badf;
    const record = memory.record(at, FDSTAT_BYTES);
    record.setUint8(0, CHARACTER_DEVICE);
    record.setUint8(1, 0);
    record.setUint16(2, stream.flags, true);
    record.setUint32(4, 0, true);
    record.setBigUint64(8, OF_ALL | (stream.output === null ? RIGHT.read : RIGHT.write), true);
    record.setBigUint64(16, 0n, true);
    return ERRNO.success;
  }

  stat(fd: number, memory: GuestMemory, at: number): number {
    if (this.get(fd) === undefined) return ERRNO.badf;
    memory.bytes(at, FILESTAT_BYTES).fill(0);
    memory.record(at, FILESTAT_BYTES).setUint8(16, CHARACTER_DEVICE);
    return ERRNO.success;
  }
}
