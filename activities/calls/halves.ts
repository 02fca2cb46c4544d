import { BATCH_STATES, FLUSH_REASONS, TASK_STATES } from '../../workflows/planning/states';
import type { Settlement } from '../../workflows/planning/calls/plans';
import type { CarriedBatch } from '../../postgres/calls/batch';
import { readMembersOf } from '../../postgres/calls/members';
import type { Client } from '../../postgres/pool';
import { lockRefused } from '../../postgres/calls/halves';
import * as settle from '../../postgres/calls/settle';
import type { Call } from './call';
import type { Decision, Half } from './door';
import { notify } from './finish';

/**
 * Inserts the two halves of a bisect, so that at the end a poison task fails alone. Each is a
 * separate batch; their parent has ended.
 */
export const insertHalves = async (
  client: Client,
  parent: CarriedBatch,
  members: readonly number[],
  { at, error, counts }: Pick<Extract<Settlement, { kind: 'split' }>, 'at' | 'error' | 'counts'>,
): Promise<[number, number]> => {
  const half = {
    state: BATCH_STATES.open,
    reason: FLUSH_REASONS.bisect,
    unconcluded: false,
    depth: parent.depth + 1,
    error: null,
    counts,
  };
  const first = await settle.insertChild(client, parent.id, { ...half, members: members.slice(0, at) });
  const second = await settle.insertChild(client, parent.id, { ...half, members: members.slice(at) });
  await settle.finishBatch(client, parent.id, BATCH_STATES.failed, counts !== false, members.length, error);
  return [first, second];
};

/**
 * Settles the refused half, now that both halves of the first split are known. Runs in the other
 * half's settlement, under their parent's lock. True: there are notifications to deliver.
 */
export const concludeSibling = async (client: Client, call: Call, sibling: Half, mine: Decision): Promise<boolean> => {
  if (mine.kind === 'halt') {
    await settle.dissolveBatch(client, sibling.id, false, mine.reason);
    return false;
  }
  const error = await lockRefused(client, sibling.id);
  const members = await readMembersOf(client, sibling.id);
  if (members.length > 1) {
    const seqs = members.map((member) => member.seq);
    await insertHalves(client, { ...call.batch, id: sibling.id }, seqs, { at: Math.ceil(seqs.length / 2), error });
    return false;
  }
  const [member] = members;
  await settle.insertOutcomes(client, sibling.id, [
    { seq: member!.seq, state: TASK_STATES.failed, attempts: member!.attempts + 1, error },
  ]);
  await settle.finishBatch(client, sibling.id, BATCH_STATES.failed, true, 1, error);
  const theirs: Call = { ...call, batch: { ...call.batch, id: sibling.id, n: 1 }, attempt: sibling.attempt, members };
  return notify(client, theirs, [], [{ index: 0, to: 'failed', error }], 'failed', error);
};
