import type { CodecError } from '../../handlers/codec/codecError';
import type { Sealer } from '../../handlers/codec/sealer';
import type { Call } from '../calls/call';
import type { Failed, Unsent } from './unsent';
import { findNewer, upcastMembers } from './upcastMembers';

/**
 * Makes the payloads of a call's members those that its handler takes: decodes them, and upcasts
 * those of older versions. Null: all are so. Otherwise the call is not to be made, and this is its
 * outcome: back pressure where the codec or the object store does not work, where a payload is of a
 * newer version, and where the batch must stay whole; a split where only some payloads are at
 * fault.
 */
export const openMembers = async (sealer: Sealer | null, call: Call): Promise<Unsent | null> => {
  const newer = findNewer(call);
  if (newer !== null) return newer;
  const unread = sealer === null ? null : await decodeMembers(sealer, call);
  if (unread !== null) return unread;
  const failed = upcastMembers(call);
  return failed.length === 0 ? null : unsentOf(call, failed);
};

const decodeMembers = async (sealer: Sealer, call: Call): Promise<Unsent | null> => {
  const opened = await sealer.open(
    'payload',
    call.members.map(({ payload }) => payload),
    call.members.map(({ id }) => id),
  );
  const failed = opened.flatMap((one, place) => (typeof one === 'string' ? [] : [{ place, error: one }]));
  if (failed.length > 0) return unsentOf(call, failed.map(toFailed), failed.some(isAway));
  call.members = call.members.map((member, place) => ({ ...member, payload: opened[place] as string }));
  return null;
};

interface Undecoded {
  place: number;
  error: CodecError;
}
const toFailed = ({ place, error }: Undecoded): Failed => ({ place, why: `cannot be decoded: ${error.message}` });
const isAway = ({ error }: Undecoded): boolean => error.away;

const unsentOf = (call: Call, failed: readonly Failed[], isAway = false): Unsent => {
  const { place, why, isLasting } = failed[0]!;
  const others = failed.length === 1 ? '' : ` and of ${failed.length - 1} more`;
  const error = `not sent: the payload of task ${JSON.stringify(call.members[place]!.id)}${others} ${why}`;
  const keepsWhole = call.members.length > 1 && (call.batch.unsure || call.batch.inLane);
  if (isAway || keepsWhole) return { kind: 'later', scope: 'target', error };
  return { kind: 'unreadable', error, ...(isLasting === true ? { isLasting } : {}) };
};
