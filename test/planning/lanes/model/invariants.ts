import { approachOf } from '../../../../workflows/planning/lanes/approaches';
import { conflictOn } from '../../../../workflows/planning/lanes/conflicts';
import { isEnded } from '../../../../workflows/planning/lanes/statuses';
import { sequentially } from './downstream';
import { answer, applyNow, operate, tell } from './happenings';
import type { SimulatedBatch, SimulatedLane, Simulation } from './simulation';

const fail = (text: string): never => {
  throw new Error(text);
};

/** May still be applied: on its way, or accepted. */
const mayBeApplied = ({ truth }: SimulatedBatch): boolean => truth === 'in-air' || truth === 'accepted';

/** What must hold after every step. */
export const checkAlways = (simulation: Simulation): void => {
  if (simulation.faults.length > 0) fail(simulation.faults.join('; '));
  for (const lane of simulation.lanes) {
    const { approach, kind } = approachOf(lane);
    const isFree = approach.name === 'unconstrained' && kind === 'non-guaranteed';
    if (kind === 'non-guaranteed' && !isFree) {
      const there = lane.batches.filter(mayBeApplied);
      there.forEach((one, at) =>
        there.slice(at + 1).forEach((other) => {
          if (approach.name === 'serial' || conflictOn(one, other) !== null)
            fail(
              `C25: batches ${one.id} and ${other.id} of one lane conflict and are pending at once (${approach.name})`,
            );
        }),
      );
    }
    const { applied } = lane.downstream;
    if (new Set(applied).size < applied.length) fail(`C28: applied twice: ${applied.join()}`);
    if (isFree) continue;
    if (approach.name !== 'parallel' && applied.some((id, at) => at > 0 && applied[at - 1]! > id))
      fail(`C1: applied as ${applied.join()} in a lane that is ${approach.name} and ${kind}`);
    if (lane.pending < 0) fail(`pending: expected at least 0, got ${lane.pending}`);
    if (lane.pendingLimit !== null && lane.pending > lane.pendingLimit.stopAt)
      fail(`pending: expected at most ${lane.pendingLimit.stopAt}, got ${lane.pending}`);
  }
};

/**
 * The world calms down: everything is answered, resumed and looked at until all has ended, or it is
 * locked.
 */
export const drain = (simulation: Simulation): void => {
  const left = () => simulation.batches.filter(({ status }) => !isEnded(status));
  const steps = 20 + 12 * left().length;
  for (let step = 0; left().length > 0; step += 1) {
    if (step > steps)
      fail(
        `C9, C10: after ${steps} calm steps still open: ${left()
          .map(({ id, status }) => `${id} ${status}`)
          .join(', ')}`,
      );
    simulation.now += 20_000;
    for (const lane of simulation.lanes) {
      lane.paused = false;
      const backwards = [...lane.accepted].reverse();
      (lane.kind === 'guaranteed' ? [...lane.accepted] : backwards).forEach(applyNow);
      for (const batch of lane.batches)
        if (batch.status === 'pending' || batch.status === 'valid') tell(simulation, batch);
      operate(simulation, lane, false);
    }
    simulation.grant();
    checkAlways(simulation);
    for (const batch of simulation.batches.filter(({ status }) => status === 'submitted'))
      answer(simulation, batch, 'accepted');
    checkAlways(simulation);
  }
};

/** What must hold when all has ended. */
export const checkEnd = (simulation: Simulation): void => {
  for (const batch of simulation.batches) {
    const isApplied = batch.lane.downstream.applied.includes(batch.id);
    if (isApplied !== (batch.status === 'committed'))
      fail(`C10: batch ${batch.id} is ${batch.status} and was ${isApplied ? '' : 'not '}applied`);
    if (batch.status === 'cancelled' && mayBeApplied(batch))
      fail(`G9: batch ${batch.id} is cancelled and may be applied`);
    if (batch.status === 'failed-dependency' && batch.sends > 0) fail(`C18: batch ${batch.id} failed and was sent`);
  }
  for (const lane of simulation.lanes) checkState(lane);
};

const checkState = (lane: SimulatedLane): void => {
  const { approach, kind } = approachOf(lane);
  if (approach.name === 'unconstrained' && kind === 'non-guaranteed') return;
  const expected = sequentially(lane.batches.filter(({ status }) => status === 'committed'));
  for (const [key, value] of expected)
    if (lane.downstream.state.get(key) !== value)
      fail(`C1, C16: ${key} of lane ${lane.id} ended as ${lane.downstream.state.get(key)}, sequentially ${value}`);
};
