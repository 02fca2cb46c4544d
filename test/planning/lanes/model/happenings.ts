import { isEnded } from '../../../../workflows/planning/lanes/statuses';
import { DELAY_MS } from '../../../../workflows/planning/lanes/tries';
import type { SimulatedBatch, SimulatedLane, Simulation } from './simulation';

/** What the world does to a simulation: answers, losses, restarts, operators. */

export const ANSWERS = [
  'accepted',
  'valid',
  'committed',
  'invalid',
  'later',
  'never-sent',
  'accepted, answer lost',
  'applied, answer lost',
  'refused, answer lost',
  'lost',
] as const;
export type Answer = (typeof ANSWERS)[number];

const accept = (batch: SimulatedBatch): void => {
  if (batch.truth !== 'in-air') return;
  batch.truth = 'accepted';
  batch.lane.accepted.push(batch);
};

export const applyNow = (batch: SimulatedBatch): void => {
  accept(batch);
  if (batch.truth !== 'accepted') return;
  batch.truth = 'applied';
  batch.lane.accepted.splice(batch.lane.accepted.indexOf(batch), 1);
  batch.lane.downstream.apply(batch);
};

export const refuseNow = (batch: SimulatedBatch): void => {
  accept(batch);
  if (batch.truth !== 'accepted') return;
  batch.truth = 'refused';
  batch.lane.accepted.splice(batch.lane.accepted.indexOf(batch), 1);
};

/** A dispatch ends: the downstream does something, and the queuer learns of it or not. */
export const answer = (simulation: Simulation, batch: SimulatedBatch, how: Answer): void => {
  if (batch.resolving) return how === 'lost' ? simulation.become(batch, 'unknown') : resolve(simulation, batch);
  // A repeat of what it has: the downstream says what became of it (idempotent).
  if (batch.truth !== 'in-air') return tell(simulation, batch);
  // Of a downstream that keeps the order nothing ends before what it accepted earlier.
  const mustQueue = batch.lane.kind === 'guaranteed' && batch.lane.accepted.length > 0;
  switch (how) {
    case 'valid':
    case 'accepted':
      accept(batch);
      return simulation.become(batch, mustQueue || how === 'accepted' ? 'pending' : 'valid');
    case 'committed':
      if (mustQueue) return answer(simulation, batch, 'accepted');
      applyNow(batch);
      return simulation.become(batch, 'committed');
    case 'invalid':
      refuseNow(batch);
      return simulation.become(batch, 'invalid');
    case 'later':
      batch.truth = 'absent';
      return simulation.become(batch, 'delayed', DELAY_MS);
    case 'never-sent':
      batch.truth = 'absent';
      return simulation.become(batch, 'unsubmitted');
    case 'accepted, answer lost':
      accept(batch);
      return simulation.become(batch, 'unknown');
    case 'applied, answer lost':
      if (mustQueue) accept(batch);
      else applyNow(batch);
      return simulation.become(batch, 'unknown');
    case 'refused, answer lost':
      refuseNow(batch);
      return simulation.become(batch, 'unknown');
    case 'lost':
      batch.truth = 'absent';
      return simulation.become(batch, 'unknown');
  }
};

/** The queuer hears what the downstream knows: by a poll, a callback, or the answer to a repeat. */
export const tell = (simulation: Simulation, batch: SimulatedBatch): void => {
  if (isEnded(batch.status)) return;
  if (batch.truth === 'applied') simulation.become(batch, 'committed');
  else if (batch.truth === 'refused') simulation.become(batch, 'invalid');
  else if (batch.truth === 'absent') simulation.become(batch, 'unknown');
  else if (batch.status === 'submitted') simulation.become(batch, 'pending');
};

/** The submitter of an unknown one does what the planner decides. */
const resolve = (simulation: Simulation, batch: SimulatedBatch): void => {
  const { idempotent, canReconcile, unsure } = batch.lane.options;
  const found = {
    absent: 'absent',
    'in-air': 'unsure',
    accepted: 'accepted',
    applied: 'done',
    refused: 'done',
  } as const;
  const decide = (asked: boolean) =>
    simulation.planner.decideUnknown({
      idempotent,
      canReconcile,
      found: !asked ? null : unsure && batch.lookUps < 2 ? 'unsure' : found[batch.truth],
      lookUps: batch.lookUps,
    });
  let decision = decide(false);
  if (decision.kind === 'look-up') {
    decision = decide(true);
    batch.lookUps += 1;
  }
  batch.resolving = false;
  switch (decision.kind) {
    case 'settle':
    case 'pending':
      return tell(simulation, batch);
    case 'unsubmitted':
      return simulation.become(batch, 'unsubmitted');
    case 'wait':
      return simulation.become(batch, 'unknown', decision.inMs);
    case 'park':
      return simulation.become(batch, 'parked');
    case 'look-up':
      throw new Error('decideUnknown: expected an end after a look-up, got another');
  }
};

/** The downstream loses what it accepted; one that promises an order keeps it. */
export const restart = (simulation: Simulation): void => {
  for (const lane of simulation.lanes) {
    if (lane.kind === 'guaranteed') continue;
    for (const batch of lane.accepted) batch.truth = 'absent';
    lane.accepted = [];
  }
};

/** The queuer's process dies: what it had with submitters is unknown, whether it arrived or not. */
export const crash = (simulation: Simulation, arrives: (batch: SimulatedBatch) => boolean): void => {
  for (const batch of simulation.batches.filter(({ status }) => status === 'submitted'))
    answer(simulation, batch, arrives(batch) && !batch.resolving ? 'accepted, answer lost' : 'lost');
};

/** Somebody wants it gone; the planner says whether the downstream may have it. */
export const cancel = (simulation: Simulation, batch: SimulatedBatch): void => {
  const { status, unsure } = batch;
  // A granted one is in the air here: what is granted and not yet called is the store's affair
  // (cancelTable).
  if (simulation.planner.whyNotCancelled({ status, calling: status === 'submitted', unsure }) === null)
    simulation.become(batch, 'cancelled');
};

/**
 * Looks at what halted the lane and does the right thing; what the downstream still has is waited
 * for.
 */
export const operate = (simulation: Simulation, lane: SimulatedLane, skip: boolean): void => {
  const batch = simulation.batches[(lane.haltedBy ?? 0) - 1];
  if (batch === undefined || batch.truth === 'accepted' || batch.truth === 'in-air') return;
  lane.haltedBy = null;
  if (batch.status !== 'parked') return simulation.ring(lane);
  if (batch.truth !== 'absent') return tell(simulation, batch);
  simulation.become(batch, skip ? 'skipped' : 'unsubmitted');
};
