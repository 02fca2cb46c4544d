import type { Scanned } from '../../../workflows/planning/jsonText';
import { Room } from './room';

/** What of requests and answers is in this process's memory at once. */
export interface Memory {
  /** Bodies, parsed, while their request is worked on. */
  bodies: Room;
  /** Large answers that are being built. */
  building: Room;
  /** Large answers that their callers have not read yet. */
  unread: Room;
}

/** Bytes of memory for bodies, per byte of the largest one. */
const ROOM_PER_BYTE = 40;
const BUILT_AT_ONCE = 2;
const UNREAD_BYTES = 67_108_864;
/** A body's bytes, as they came and as text; each value and name as it is parsed and checked. */
const PER_BYTE = 3;
const PER_VALUE = 200;
/** A body has at most one JSON value or name per so many bytes of the largest one. */
const BYTES_PER_VALUE = 8;

/** Texts of a page, in bytes; it has one more entry than fits. */
export const PAGE_BYTES = 8_388_608;
/** An answer from so many characters takes part in the room for large ones. */
export const LARGE_ANSWER = 65_536;

export const memoryFor = (maxBodyBytes: number): Memory => {
  const unread = new Room(UNREAD_BYTES, 'unread answers', () => UNREAD_BYTES / 2);
  // Who reads slowly may wait amid building until it has read others: at one place, not at all.
  const placesOf = (caller: number): number => (unread.isUsedBy(caller) ? BUILT_AT_ONCE / 2 : BUILT_AT_ONCE);
  return {
    bodies: new Room(maxBodyBytes * ROOM_PER_BYTE, 'large bodies'),
    building: new Room(BUILT_AT_ONCE, 'large answers', placesOf),
    unread,
  };
};

/** Returns the most JSON values and names of a body: 524,288 where a body may have 4 MB. */
export const mostValues = (maxBodyBytes: number): number => Math.floor(maxBodyBytes / BYTES_PER_VALUE);

/** Returns the memory that a body takes while its request is worked on, in bytes. */
export const memoryOf = (bytes: number, { values }: Scanned): number => bytes * PER_BYTE + values * PER_VALUE;
