import { holdHandler, holdTarget } from '../../postgres/calls/backPressure';
import type { Client } from '../../postgres/pool';
import { deferBatch } from '../../postgres/calls/settle';
import type { Settlement } from '../../workflows/planning/calls/plans';
import { countsAttempt } from '../../workflows/planning/calls/settlement';
import type { Call, Settled } from './call';

/** Shorter waits stay in the submission, its slot free meanwhile (DESIGN section 4.4). */
export const IN_PROCESS_MS = 2_000;

/** Refused for now (H5): the same batch later, its target, handler or lane held as long. */
export const putOff = async (
  client: Client,
  call: Call,
  settlement: Extract<Settlement, { kind: 'wait' }>,
  settled: Settled,
): Promise<void> => {
  const { batch, attempt } = call;
  const counts = countsAttempt(settlement.kind);
  const keep = settlement.inPlace && settlement.inMs < IN_PROCESS_MS && !batch.inLane;
  await deferBatch(client, batch.id, attempt, {
    inMs: settlement.inMs,
    refused: true,
    counts,
    keep,
    error: settlement.error,
  });
  if (batch.inLane && settlement.hold === 'target') return; // its lane is held
  if (settlement.hold === 'handler') await holdHandler(client, batch, settlement.inMs);
  else await holdTarget(client, batch, settlement.inMs);
  if (keep) settled.againInMs = settlement.inMs;
};
