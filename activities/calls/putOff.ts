import { holdHandler, holdTarget } from '../../postgres/calls/backPressure';
import type { Client } from '../../postgres/pool';
import { deferBatch } from '../../postgres/calls/settle';
import { countsAttempt } from '../../workflows/planning/calls/settlement';
import type { Call, Settled } from './call';
import type { Decision } from './door';

/**
 * A shorter wait is spent in the dispatch, with the slot free; a longer one becomes a due time in
 * the store.
 */
export const IN_PROCESS_MS = 2_000;

/** Nothing was settled. */
export const TO_LOOK_AGAIN: Settled = {
  written: true,
  kind: 'wait',
  ring: true,
  againInMs: null,
  accepted: false,
  hasNotifications: false,
  awaited: false,
  lanes: [],
};

/**
 * Puts off a batch that was refused for now: it is retried later, and its target, handler or lane
 * is held until then.
 */
export const putOff = async (
  client: Client,
  call: Call,
  { inMs, hold, keep, error }: Extract<Decision, { kind: 'wait' }>,
): Promise<void> => {
  const { batch, attempt } = call;
  await deferBatch(client, batch.id, attempt, { inMs, refused: true, counts: countsAttempt('wait'), keep, error });
  if (hold === 'handler') await holdHandler(client, batch, inMs);
  else if (hold === 'target') await holdTarget(client, batch, inMs);
};
