import { currentJson } from '../../handlers/contracts/currentPayload';
import { FIRST_VERSION, storedVersionOf, versionOf } from '../../handlers/contracts/payloadVersion';
import { UNCHECKED } from '../../handlers/contracts/uncheckedPayload';
import type { MemberTask } from '../../postgres/calls/members';
import type { Call } from '../calls/call';
import type { Failed, Unsent } from './unsent';

/** Payloads of other versions than the handler's, in a batch that is about to be called. */

/**
 * How long a batch with newer payloads waits before it is read again, perhaps by a worker that
 * knows them.
 */
const NEWER_WAIT_MS = 5_000;

/** Returns what to do if this code is older than one of the payloads; null: it is not. */
export const findNewer = ({ handler, members }: Call): Unsent | null => {
  const ours = versionOf(handler);
  const newer = members.find(({ version }) => (version ?? FIRST_VERSION) > ours);
  if (newer === undefined) return null;
  const error =
    `not sent: the payload of task ${JSON.stringify(newer.id)} is of version ${newer.version}, and this worker knows ` +
    `handler "${handler.name}" up to version ${ours}. It waits for a worker with the newer code: deploy that`;
  return { kind: 'later', scope: 'target', retryAfterMs: NEWER_WAIT_MS, error };
};

/**
 * Makes payloads of older versions, and those that were not checked, today's. Returns those for
 * which that fails.
 */
export const upcastMembers = (call: Call): Failed[] => {
  const { handler, members } = call;
  const ours = storedVersionOf(handler);
  if (members.every(({ version }) => version === ours)) return [];
  const failed: Failed[] = [];
  const upcast = (member: MemberTask, place: number): MemberTask => {
    if (member.version === ours) return member;
    const isUnchecked = member.version === UNCHECKED;
    try {
      return { ...member, payload: currentJson(handler, member, call.batch.target), version: ours };
    } catch (error) {
      failed.push({ place, why: `cannot be used: ${(error as Error).message}`, isLasting: isUnchecked });
      return member;
    }
  };
  const today = members.map(upcast);
  if (failed.length === 0) call.members = today;
  return failed;
};
