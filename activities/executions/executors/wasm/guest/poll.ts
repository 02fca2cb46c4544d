import type { Clocks } from './clocks';
import { CLOCK } from './clocks';
import type { Descriptors } from './descriptors';
import { ERRNO } from './errno';
import type { GuestMemory } from './memory';

/** What a run waits for: clocks, and its streams, which are always ready. */

const SUBSCRIPTION_BYTES = 48;
const EVENT_BYTES = 32;
/** More than a command with three streams can use. */
const MOST = 4_096;
const TAG = { clock: 0, read: 1, write: 2 } as const;
const ABSOLUTE = 1;
const HANGUP = 1;
/** Longest single wait, in milliseconds: a timeout may be of centuries. */
const LONGEST_MS = 1_000_000;
const NS_PER_MS = 1e6;

interface Subscription {
  userdata: bigint;
  tag: number;
  errno: number;
  /** By the monotonic clock, in nanoseconds; null: it is ready now. */
  at: bigint | null;
}

const sleeping = new Int32Array(new SharedArrayBuffer(4));

export interface PollDeps {
  memory: GuestMemory;
  descriptors: Descriptors;
  clocks: Clocks;
}

/** Waits until at least one subscription is ready, and writes an event for each that is. */
export const poll = (deps: PollDeps, subscriptions: number, events: number, count: number, written: number): number => {
  const { memory, clocks } = deps;
  const n = count >>> 0;
  if (n === 0 || n > MOST) return ERRNO.inval;
  // Everything is checked before it waits.
  const given = memory.record(subscriptions, n * SUBSCRIPTION_BYTES);
  memory.record(events, n * EVENT_BYTES);
  memory.record(written, 4);
  const all = Array.from({ length: n }, (_, i) => read(deps, given, i * SUBSCRIPTION_BYTES));
  if (all.some(({ tag }) => tag > TAG.write)) return ERRNO.inval;
  if (all.every(({ at }) => at !== null)) waitUntil(clocks, all.map(({ at }) => at!).reduce(min));
  const now = clocks.now(CLOCK.monotonic)!;
  const ready = all.filter(({ at }) => at === null || at <= now);
  for (const [i, one] of ready.entries()) write(memory, (events >>> 0) + i * EVENT_BYTES, one);
  memory.setU32(written, ready.length);
  return ERRNO.success;
};

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);

const read = ({ clocks, descriptors }: PollDeps, given: DataView, at: number): Subscription => {
  const userdata = given.getBigUint64(at, true);
  const tag = given.getUint8(at + 8);
  if (tag !== TAG.clock) {
    const fd = given.getUint32(at + 16, true);
    const stream = descriptors.get(fd);
    const fits = stream !== undefined && (stream.output === null) === (tag === TAG.read);
    return { userdata, tag, errno: fits ? ERRNO.success : ERRNO.badf, at: null };
  }
  const id = given.getUint32(at + 16, true);
  const timeout = given.getBigUint64(at + 24, true);
  const now = id === CLOCK.realtime || id === CLOCK.monotonic ? clocks.now(id) : null;
  if (now === null) return { userdata, tag, errno: ERRNO.inval, at: null };
  const isAbsolute = (given.getUint16(at + 40, true) & ABSOLUTE) !== 0;
  const left = isAbsolute ? timeout - now : timeout;
  return { userdata, tag, errno: ERRNO.success, at: clocks.now(CLOCK.monotonic)! + left };
};

const waitUntil = (clocks: Clocks, until: bigint): void => {
  for (;;) {
    const leftMs = Number(until - clocks.now(CLOCK.monotonic)!) / NS_PER_MS;
    if (leftMs <= 0) return;
    Atomics.wait(sleeping, 0, 0, Math.min(leftMs, LONGEST_MS));
  }
};

const write = (memory: GuestMemory, at: number, { userdata, tag, errno }: Subscription): void => {
  const event = memory.record(at, EVENT_BYTES);
  for (let i = 0; i < EVENT_BYTES; i += 8) event.setBigUint64(i, 0n, true);
  event.setBigUint64(0, userdata, true);
  event.setUint16(8, errno, true);
  event.setUint8(10, tag);
  // An empty input has come to its end: nothing to read, and the other side is gone.
  if (tag === TAG.read && errno === ERRNO.success) event.setUint16(24, HANGUP, true);
};
