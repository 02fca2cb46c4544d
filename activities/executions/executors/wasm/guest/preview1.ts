import { randomFillSync } from 'node:crypto';
import { Clocks } from './clocks';
import { Descriptors } from './descriptors';
import { ERRNO } from './errno';
import { Fault, GuestMemory } from './memory';
import type { Output } from './output';
import { poll } from './poll';

/**
 * The functions of `wasi_snapshot_preview1` that one run of a command gets: arguments, variables,
 * clocks, random bytes, an empty input and two outputs. Nothing of the host is behind them: no
 * descriptor, file, socket, signal or process. All other functions of the snapshot answer an error.
 */

/** Thrown through the module by `proc_exit`. */
export const EXIT = Object.freeze({ exit: true });

/** `crypto` fills so much at once. */
const RANDOM_BYTES = 65_536;
const IOV_BYTES = 8;
const U32_MAX = 0xffff_ffff;

export interface RunInput {
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  stdout: Output;
  stderr: Output;
}

/** Numbers of the guest are i32 (a number) or i64 (a bigint). */
type Import = (...args: never[]) => unknown;

export class Preview1 {
  readonly memory = new GuestMemory();
  /** Null: it has not called `proc_exit`. */
  exitCode: number | null = null;
  readonly imports: Readonly<Record<string, Import>>;
  private readonly args: Uint8Array[];
  private readonly env: Uint8Array[];
  private readonly descriptors: Descriptors;
  private readonly clocks = new Clocks();

  constructor({ args, env, stdout, stderr }: RunInput) {
    this.args = args.map(toCText);
    this.env = Object.entries(env).map(([name, value]) => toCText(`${name}=${value}`));
    this.descriptors = new Descriptors(stdout, stderr);
    this.imports = Object.fromEntries(
      [...Object.entries(this.offered()), ...Object.entries(this.refused())].map(([name, call]) => [
        name,
        (...given: never[]) => this.guarded(call, given),
      ]),
    );
  }

  /** A module may catch what `proc_exit` throws: then its next call is thrown out again. */
  private guarded(call: Import, given: never[]): unknown {
    if (this.exitCode !== null) throw EXIT;
    try {
      return call(...given);
    } catch (error) {
      if (error instanceof Fault) return ERRNO.fault;
      throw error;
    }
  }

  private offered(): Record<string, Import> {
    const { memory, descriptors, clocks } = this;
    return {
      args_sizes_get: (count: number, size: number) => this.sizes(this.args, count, size),
      args_get: (pointers: number, texts: number) => this.texts(this.args, pointers, texts),
      environ_sizes_get: (count: number, size: number) => this.sizes(this.env, count, size),
      environ_get: (pointers: number, texts: number) => this.texts(this.env, pointers, texts),
      clock_res_get: (id: number, at: number) => this.setTime(clocks.resolution(id), at),
      clock_time_get: (id: number, _precision: bigint, at: number) => this.setTime(clocks.now(id), at),
      random_get: (at: number, length: number) => this.random(at, length),
      fd_write: (fd: number, iovs: number, count: number, written: number) => this.write(fd, iovs, count, written),
      fd_read: (fd: number, iovs: number, count: number, read: number) => this.read(fd, iovs, count, read),
      fd_close: (fd: number) => descriptors.close(fd),
      fd_renumber: (from: number, to: number) => descriptors.renumber(from, to),
      fd_fdstat_get: (fd: number, at: number) => descriptors.describe(fd, memory, at),
      fd_fdstat_set_flags: (fd: number, flags: number) => descriptors.setFlags(fd, flags),
      fd_filestat_get: (fd: number, at: number) => descriptors.stat(fd, memory, at),
      poll_oneoff: (subscriptions: number, events: number, count: number, written: number) =>
        poll({ memory, descriptors, clocks }, subscriptions, events, count, written),
      sched_yield: () => ERRNO.success,
      proc_exit: (code: number) => {
        this.exitCode = code | 0;
        throw EXIT;
      },
    };
  }

  /** What there is no file, folder, socket or signal for. The descriptor is the first argument. */
  private refused(): Record<string, Import> {
    const answer = (errno: number, names: readonly string[]): [string, Import][] =>
      names.map((name) => [name, (fd: number) => this.descriptors.refuse(fd, errno)]);
    return {
      ...Object.fromEntries([
        ...answer(ERRNO.spipe, ['fd_seek', 'fd_tell', 'fd_pread', 'fd_pwrite', 'fd_advise']),
        ...answer(ERRNO.inval, ['fd_datasync', 'fd_sync', 'fd_allocate', 'fd_filestat_set_size']),
        ...answer(ERRNO.notsup, ['fd_fdstat_set_rights', 'fd_filestat_set_times']),
        ...answer(ERRNO.badf, ['fd_prestat_get', 'fd_prestat_dir_name']),
        ...answer(ERRNO.notdir, ['fd_readdir', 'path_open', 'path_create_directory', 'path_filestat_get']),
        ...answer(ERRNO.notdir, ['path_filestat_set_times', 'path_link', 'path_readlink', 'path_remove_directory']),
        ...answer(ERRNO.notdir, ['path_rename', 'path_unlink_file']),
        ...answer(ERRNO.notsock, ['sock_accept', 'sock_recv', 'sock_send', 'sock_shutdown']),
      ]),
      path_symlink: (_path: number, _length: number, fd: number) => this.descriptors.refuse(fd, ERRNO.notdir),
      proc_raise: () => ERRNO.nosys,
    };
  }

  private sizes(texts: readonly Uint8Array[], count: number, size: number): number {
    this.memory.setU32(count, texts.length);
    this.memory.setU32(size, lengthOf(texts));
    return ERRNO.success;
  }

  private texts(texts: readonly Uint8Array[], pointers: number, at: number): number {
    const places = this.memory.record(pointers, 4 * texts.length);
    const room = this.memory.bytes(at, lengthOf(texts));
    let end = 0;
    for (const [i, text] of texts.entries()) {
      places.setUint32(4 * i, (at >>> 0) + end, true);
      room.set(text, end);
      end += text.length;
    }
    return ERRNO.success;
  }

  private setTime(time: bigint | null, at: number): number {
    if (time === null) return ERRNO.inval;
    this.memory.setU64(at, time);
    return ERRNO.success;
  }

  private random(at: number, length: number): number {
    const bytes = this.memory.bytes(at, length >>> 0);
    for (let done = 0; done < bytes.length; done += RANDOM_BYTES)
      randomFillSync(bytes.subarray(done, done + RANDOM_BYTES));
    return ERRNO.success;
  }

  /** Writes whole vectors, as many as fit into the count that it answers. */
  private write(fd: number, iovs: number, count: number, written: number): number {
    const output = this.descriptors.get(fd)?.output;
    if (output === undefined || output === null) return ERRNO.badf;
    const vectors = this.memory.record(iovs, IOV_BYTES * (count >>> 0));
    this.memory.record(written, 4);
    let sum = 0;
    for (let at = 0; at < vectors.byteLength; at += IOV_BYTES) {
      const length = vectors.getUint32(at + 4, true);
      if (sum + length > U32_MAX) break;
      output.write(this.memory.bytes(vectors.getUint32(at, true), length));
      sum += length;
    }
    this.memory.setU32(written, sum);
    return ERRNO.success;
  }

  /** The input is empty. */
  private read(fd: number, iovs: number, count: number, read: number): number {
    const stream = this.descriptors.get(fd);
    if (stream === undefined || stream.output !== null) return ERRNO.badf;
    this.memory.record(iovs, IOV_BYTES * (count >>> 0));
    this.memory.setU32(read, 0);
    return ERRNO.success;
  }
}

const encoder = new TextEncoder();
const toCText = (text: string): Uint8Array => encoder.encode(`${text}\0`);
const lengthOf = (texts: readonly Uint8Array[]): number => texts.reduce((sum, text) => sum + text.length, 0);
