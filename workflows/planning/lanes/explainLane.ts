import type { Question } from '../explain/question';
import { askedAgain } from '../explain/question';
import { approachOf } from './approaches';
import { conflictOn } from './conflicts';
import { isAnyUnread, verdictOn, type Verdict } from './eligibility';
import { formatDuration } from '../duration';
import { formatKey, formatPlace, formatBatches } from './format';
import { isInFlight, type LaneBatchStatus } from './statuses';
import type { Lane, QueuedBatch } from './types';

/** What `explain` knows about a lane batch, read by one statement. Times are in milliseconds. */
export interface LaneFacts {
  batchId: number;
  status: LaneBatchStatus;
  /** Its place among the open batches of its lane, from 1; 0: it has ended. */
  place: number;
  /** The lane with its first open batches. This batch need not be among them. */
  lane: Lane;
  /** How long each of the given open batches has had its status. */
  ageMs: ReadonlyMap<number, number>;
  /**
   * `paused`: all lanes are paused. `served`: a live worker serves its handler. Then its submitter
   * slots, and how many lanes are due before this one.
   */
  queuer: { paused: boolean; served: boolean; slots: number; slotsTaken: number; lanesBefore: number };
  /** Why the queuer or the lane is paused, or the lane is halted; then the batch's last error. */
  reason: string | null;
  error: string | null;
  /**
   * The limit of the batch's target or handler after back pressure; left out or null: as
   * configured.
   */
  reduced?: Reduced | null;
  /** When it is polled next; only for a batch that the downstream accepted. */
  question?: Question;
}

/** How many calls at once back pressure has left to a target or handler. */
export interface Reduced {
  calls: number;
  of: string;
}

type LaneWaitsFor =
  | 'pause'
  | 'halt'
  | 'back-pressure'
  | 'commit'
  | 'call'
  | 'order'
  | 'conflict'
  | 'dependency'
  | 'delay'
  | 'resolution'
  | 'submitter'
  | 'worker';
export interface LaneExplanation {
  text: string;
  waitsFor: LaneWaitsFor | null;
  /** Milliseconds until the earliest next step; 0: now; null: unknown, or the batch has ended. */
  inMs: number | null;
}

/**
 * Explains where a lane batch is and what it waits for: "third in lane po-17, waits for commit of
 * batch 81 (4 s)". Pure.
 */
export const explainLane = (facts: LaneFacts): LaneExplanation => {
  const { place, lane } = facts;
  if (facts.status === 'refused')
    return {
      text: `In lane ${lane.service}, refused when sent alone${said(facts)}; the outcome of the batch after it decides whether it is a poison task.`,
      waitsFor: 'resolution',
      inMs: null,
    };
  if (place === 0) return { text: `${ended(facts)}.`, waitsFor: null, inMs: null };
  const where = `${formatPlace(place)} in lane ${lane.service}`;
  const { text, ...rest } = stopped(facts) ?? waits(facts);
  return { text: `${where}, ${text}.`, ...rest };
};

const ended = ({ status, lane, error }: LaneFacts): string => {
  const because = error === null ? '' : `: ${error}`;
  switch (status) {
    case 'committed':
      return `committed in lane ${lane.service}`;
    case 'invalid':
      return `refused permanently in lane ${lane.service}${because}; it is never sent again`;
    case 'failed-dependency':
      return `failed in lane ${lane.service} without being sent${because}`;
    default:
      return `${status} in lane ${lane.service}${because}`;
  }
};

/**
 * Explains what stops the whole lane. Null: nothing does, or the batch is in flight, which a stop
 * does not affect.
 */
const stopped = ({ lane, queuer, status, reason }: LaneFacts): LaneExplanation | null => {
  if (isInFlight(status)) return null;
  const because = reason === null ? '' : `: ${reason}`;
  if (queuer.paused) return { waitsFor: 'pause', inMs: null, text: `the queuer is paused${because}` };
  if (lane.paused) return { waitsFor: 'pause', inMs: null, text: `the lane is paused${because}; resume it` };
  if (lane.haltedBy !== null)
    return {
      waitsFor: 'halt',
      inMs: null,
      text: `the lane is halted by batch ${lane.haltedBy}${because}; skip or fix that batch`,
    };
  if (lane.holdInMs !== null && lane.holdInMs > 0)
    return {
      waitsFor: 'back-pressure',
      inMs: lane.holdInMs,
      text: `the downstream asked this service to wait another ${formatDuration(lane.holdInMs)}`,
    };
  if (!lane.saturated || lane.pendingLimit === null) return null;
  const { stopAt, resumeBelow } = lane.pendingLimit;
  return {
    waitsFor: 'back-pressure',
    inMs: null,
    text: `${lane.pending} batches of the service are pending; the lane continues below ${resumeBelow} (limit ${stopAt})`,
  };
};

const waits = (facts: LaneFacts): LaneExplanation => {
  const { lane, batchId } = facts;
  const verdict = verdictOn(lane, batchId);
  const head = lane.open[0];
  if (verdict !== null) return byVerdict(facts, verdict);
  if (head === undefined)
    return { waitsFor: 'order', inMs: null, text: 'it was moving while this was read; explain it again' };
  if (head.id === batchId)
    return { waitsFor: 'order', inMs: null, text: 'may wait for batches after it, which are in flight' };
  return { waitsFor: 'order', inMs: null, text: `waits behind ${formatBatches([head.id])} and those after it` };
};

const byVerdict = (facts: LaneFacts, verdict: Verdict): LaneExplanation => {
  switch (verdict.kind) {
    case 'may-go':
      return next(facts);
    case 'in-flight':
      return inFlight(facts);
    case 'parked':
      return { waitsFor: 'halt', inMs: null, text: `its outcome is unknown${said(facts)}; resolve it manually` };
    case 'not-before':
      return {
        waitsFor: 'delay',
        inMs: verdict.inMs,
        text: `is sent again in ${formatDuration(verdict.inMs)}${said(facts)}`,
      };
    case 'dependency':
      return { waitsFor: 'dependency', inMs: null, text: `depends on ${formatBatches(verdict.on)}` };
    case 'failed':
      return {
        waitsFor: null,
        inMs: 0,
        text: `fails without being sent: batch ${verdict.on}, on which it depends, was not applied`,
      };
    case 'unknown-first':
      return {
        waitsFor: 'resolution',
        inMs: null,
        text: `waits until the unknown outcome of batch ${verdict.batch.id}${age(facts, verdict.batch)} is resolved`,
      };
    case 'blocked':
      return blocked(facts, verdict.batch, verdict.key);
  }
};

const said = ({ error }: LaneFacts): string => (error === null ? '' : ` (${error})`);

const age = ({ ageMs }: LaneFacts, { id }: QueuedBatch): string => {
  const ms = ageMs.get(id);
  return ms === undefined ? '' : ` (${formatDuration(ms)})`;
};

const inFlight = ({ status, ageMs, batchId, question }: LaneFacts): LaneExplanation => {
  const ms = ageMs.get(batchId);
  const since = ms === undefined ? '' : ` for ${formatDuration(ms)}`;
  if (status === 'submitted') return { waitsFor: 'call', inMs: null, text: `is with a submitter${since}` };
  const text =
    status === 'valid' ? `was found valid and waits for its commit${since}` : `was accepted and is pending${since}`;
  return { waitsFor: 'commit', inMs: null, text: `${text}${question === undefined ? '' : askedAgain(question)}` };
};

/** Explains a batch that waits for another batch, because of their order or of a state key. */
const blocked = (facts: LaneFacts, other: QueuedBatch, key: string | null): LaneExplanation => {
  const { lane } = facts;
  const waitsFor = { submitted: 'call', pending: 'commit', valid: 'commit' } as const;
  const what = { submitted: 'answer to', pending: 'commit of', valid: 'commit of' } as const;
  const status = other.status as keyof typeof what;
  const text = `waits for ${what[status] ?? 'its turn behind'} batch ${other.id}${age(facts, other)}`;
  if (key !== null)
    return { waitsFor: waitsFor[status] ?? 'conflict', inMs: null, text: `${text}, conflicts on ${formatKey(key)}` };
  return { waitsFor: waitsFor[status] ?? 'order', inMs: null, text: `${text}${asParallel(facts, lane)}` };
};

/**
 * Returns whether the parallel approach would let a batch of a serial lane go, to be appended to
 * its explanation. Empty: the lane is not served serially by its approach, or that depends on keys
 * that were not read.
 */
const asParallel = ({ batchId }: LaneFacts, lane: Lane): string => {
  const { approach } = approachOf(lane);
  if (approach.name !== 'serial' || lane.onInvalid === 'halt') return '';
  const at = lane.open.findIndex(({ id }) => id === batchId);
  const batch = lane.open[at]!;
  for (const other of lane.open.slice(0, at)) {
    if (isAnyUnread(batch, other)) return '';
    const key = conflictOn(other, batch);
    if (key !== null) return `, parallel would conflict on ${formatKey(key)}`;
  }
  return ', parallel would let it go now';
};

/** Explains a batch that may go, but has not been granted yet. */
const next = ({ queuer, lane, reduced }: LaneFacts): LaneExplanation => {
  const { served, slots, slotsTaken, lanesBefore } = queuer;
  if (!served)
    return { waitsFor: 'worker', inMs: null, text: 'is ready, but no live worker serves its handler; start one' };
  const before =
    lanesBefore === 0
      ? ''
      : `, ${lanesBefore} ${lanesBefore === 1 ? 'lane is' : 'lanes are'} due before ${lane.service}`;
  if (lane.held === true)
    return {
      waitsFor: 'submitter',
      inMs: null,
      text: `is ready and is waiting for a limit of its handler: calls in flight or weight in flight${fewer(reduced)}`,
    };
  if (slotsTaken >= slots)
    return {
      waitsFor: 'submitter',
      inMs: null,
      text: `is ready and is waiting for one of ${slots} submitters${before}`,
    };
  return { waitsFor: 'submitter', inMs: 0, text: `is ready and is granted next${before}` };
};

const fewer = (reduced: Reduced | null | undefined): string =>
  reduced == null
    ? ''
    : `; back pressure left ${reduced.of} ${reduced.calls} ${reduced.calls === 1 ? 'call' : 'calls'} at once, plus one after each success`;
