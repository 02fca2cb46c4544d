import { readMembersOf } from '../../postgres/calls/members';
import { lockRefused, reopenRefused } from '../../postgres/calls/halves';
import * as lane from '../../postgres/lanes/settle';
import type { Client } from '../../postgres/pool';
import * as settle from '../../postgres/calls/settle';
import { STATUSES } from '../../workflows/planning/lanes/statuses';
import { BATCH_STATES, TASK_STATES } from '../../workflows/planning/states';
import type { Call } from '../calls/call';
import type { Decision, Half } from '../calls/door';
import { notify } from '../calls/finish';

/**
 * Decides what was put off for the first half: sent again after all, or failed permanently. Returns
 * lanes to look at, and whether there are notifications to deliver.
 */
export const concludePair = async (
  client: Client,
  call: Call,
  pair: Half,
  mine: Decision,
): Promise<{ lanes: number[]; hasNotifications: boolean }> => {
  const error = await lockRefused(client, pair.id);
  if (mine.kind === 'halt') {
    await reopenRefused(client, pair.id);
    const moved = await lane.moveLaneBatch(client, pair.id, STATUSES.unsubmitted);
    return { lanes: moved === null ? [] : [moved.laneId], hasNotifications: false };
  }
  const members = await readMembersOf(client, pair.id);
  await settle.insertOutcomes(
    client,
    pair.id,
    members.map(({ seq, attempts }) => ({ seq, state: TASK_STATES.failed, attempts: attempts + 1, error })),
  );
  await settle.finishBatch(client, pair.id, BATCH_STATES.failed, true, members.length, error);
  const moved = await lane.moveLaneBatch(client, pair.id, STATUSES.invalid);
  const others = await lane.readyDependents(client, pair.id);
  const theirs: Call = { ...call, batch: { ...call.batch, id: pair.id, n: 1 }, attempt: pair.attempt, members };
  const hasNotifications = await notify(client, theirs, [], [{ index: 0, to: 'failed', error }], 'failed', error);
  return { lanes: [...(moved === null ? [] : [moved.laneId]), ...others], hasNotifications };
};
