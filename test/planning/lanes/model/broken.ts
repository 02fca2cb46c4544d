import { planGrants } from '../../../../workflows/planning/lanes/grants';
import { isEnded, type LaneBatchStatus } from '../../../../workflows/planning/lanes/statuses';
import type { Lane, QueuedBatch } from '../../../../workflows/planning/lanes/types';
import { type Planner, REAL, type SimulatedBatch } from './simulation';

/** Planners with one planted bug each: what the invariants are for. */

const overLanes =
  (change: (lane: Lane) => Lane): Planner['planGrants'] =>
  (state, slots) =>
    planGrants({ ...state, lanes: state.lanes.map(change) }, slots);
const overBatches = (change: (batch: QueuedBatch) => QueuedBatch): Planner => ({
  ...REAL,
  planGrants: overLanes((lane) => ({ ...lane, open: lane.open.map(change) })),
});

const openExcept =
  (...gone: LaneBatchStatus[]) =>
  (batches: readonly SimulatedBatch[]): readonly SimulatedBatch[] =>
    batches.filter(({ status }) => !isEnded(status) && !gone.includes(status));

/**
 * What depends on others would lock a lane in which it passes them, and hide the bug behind that.
 */
const needsNothing = ({ needs }: SimulatedBatch): boolean => needs.length === 0;

export const BROKEN: readonly { bug: string; breaks: RegExp; planner: Planner }[] = [
  {
    bug: 'Valid opens the lane before Committed',
    breaks: /C25: batches \d+ and \d+ of one lane conflict and are pending at once|C1/,
    planner: { ...REAL, openOf: openExcept('valid') },
  },
  {
    bug: 'in flight without a status does not block its lane',
    breaks: /C25: .* pending at once|C1/,
    planner: { ...REAL, openOf: openExcept('submitted') },
  },
  {
    bug: 'an unknown one lets the others pass and comes last',
    breaks: /C1: applied as|C25: .* pending at once/,
    planner: {
      ...REAL,
      openOf: (batches) => {
        const others = openExcept('unknown')(batches).filter(needsNothing);
        return others.length > 0 ? others : openExcept()(batches);
      },
    },
  },
  {
    bug: 'the newest goes first',
    breaks: /C1: applied as|C25: .* pending at once/,
    planner: {
      ...REAL,
      openOf: (batches) => {
        const isNew = (batch: SimulatedBatch): boolean => batch.status === 'unsubmitted' && needsNothing(batch);
        const all = openExcept()(batches);
        return [...all.filter((batch) => isNew(batch)).reverse(), ...all.filter((batch) => !isNew(batch))];
      },
    },
  },
  {
    bug: 'what a batch reads is forgotten',
    breaks: /C1, C16: \w of lane \d ended as|C25: .* \(parallel\)/,
    planner: overBatches((batch) => (batch.writes.length === 0 ? batch : { ...batch, reads: [] })),
  },
  {
    bug: 'an invalid one is opened again',
    breaks: /C11: batch \d+ was refused and is sent again/,
    planner: {
      ...REAL,
      openOf: (batches) => batches.filter(({ status }) => !isEnded(status) || status === 'invalid').map(reopened),
      checkTransition: () => undefined,
    },
  },
  {
    bug: 'an unknown one is sent again blindly',
    breaks: /C28: batch \d+ is sent again blindly/,
    planner: { ...REAL, decideUnknown: () => ({ kind: 'unsubmitted', because: 'absent' }) },
  },
  {
    bug: 'dependencies are not waited for',
    breaks: /C18: batch \d+ is sent before its dependency/,
    planner: overBatches((batch) => ({ ...batch, waitsFor: [], failedOn: null })),
  },
  {
    bug: 'a delayed one is never due',
    breaks: /C9, C10: after \d+ calm steps still open/,
    planner: overBatches((batch) => (batch.status === 'delayed' ? { ...batch, notBeforeInMs: 1e9 } : batch)),
  },
  {
    bug: 'an unknown outcome is looked up for ever',
    breaks: /C9, C10: after \d+ calm steps still open/,
    planner: { ...REAL, decideUnknown: () => ({ kind: 'wait', inMs: 1_000 }) },
  },
  {
    bug: 'a batch whose dependency failed is dropped without a word',
    breaks: /C9, C10: after \d+ calm steps still open/,
    planner: { ...REAL, planGrants: (state, slots) => ({ ...planGrants(state, slots), failures: [], again: false }) },
  },
  {
    bug: 'a batch of unknown outcome is cancelled',
    breaks: /C10: batch \d+ is cancelled and was applied|G9: batch \d+ is cancelled and may be applied/,
    planner: {
      ...REAL,
      whyNotCancelled: (facts) => (facts.calling ? 'in a call' : null),
      checkTransition: () => undefined,
    },
  },
  {
    bug: 'a lane that was full stays full',
    breaks: /C9, C10: after \d+ calm steps still open/,
    planner: {
      ...REAL,
      planGrants: (state, slots) => {
        const plan = planGrants(state, slots);
        return { ...plan, lanes: plan.lanes.map((lane) => (lane.saturated ? { ...lane, haltedBy: 1e9 } : lane)) };
      },
    },
  },
];

const reopened = (batch: SimulatedBatch): SimulatedBatch =>
  batch.status === 'invalid' ? { ...batch, status: 'unsubmitted' } : batch;
