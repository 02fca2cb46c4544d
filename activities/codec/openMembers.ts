import type { CodecError } from '../../handlers/codec/codecError';
import type { Sealer } from '../../handlers/codec/sealer';
import type { CallOutcome } from '../../workflows/planning/calls/plans';
import type { Call } from '../calls/call';

/**
 * Decodes the payloads of a call's members. Null: all are decoded. Otherwise the call is not to be
 * made, and this is its outcome: back pressure where the codec or the object store does not work,
 * and where the batch must stay whole; a split where only some payloads cannot be decoded.
 */
export const openMembers = async (
  sealer: Sealer,
  call: Call,
): Promise<Extract<CallOutcome, { kind: 'later' | 'unreadable' }> | null> => {
  const opened = await sealer.open(
    'payload',
    call.members.map(({ payload }) => payload),
  );
  const failed = opened.flatMap((one, place) => (typeof one === 'string' ? [] : [{ place, error: one }]));
  const [first] = failed;
  if (first === undefined) {
    call.members = call.members.map((member, place) => ({ ...member, payload: opened[place] as string }));
    return null;
  }
  const error = `not sent: the payload of ${textOf(call, first, failed.length)}`;
  const keepsWhole = call.members.length > 1 && (call.batch.unsure || call.batch.inLane);
  return failed.some((one) => one.error.away) || keepsWhole
    ? { kind: 'later', scope: 'target', error }
    : { kind: 'unreadable', error };
};

const textOf = (call: Call, { place, error }: { place: number; error: CodecError }, failed: number): string => {
  const others = failed === 1 ? '' : ` and of ${failed - 1} more`;
  return `task ${JSON.stringify(call.members[place]!.id)}${others} cannot be decoded: ${error.message}`;
};
