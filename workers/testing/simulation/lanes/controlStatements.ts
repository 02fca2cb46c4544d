import { STATUSES } from '../../../../workflows/planning/lanes/statuses';
import { BATCH_STATES, batchStateName } from '../../../../workflows/planning/states';
import type { Statement } from '../statement';
import { NO_ROWS } from '../statement';
import type { Tables } from '../tables';
import { membersIn } from '../tables';
import { isWithDownstream } from './laneTables';
import type { LaneRow } from '../rows';

/** What the statements of an operator's verbs for lanes do to a simulated store. */

const nothing: Statement = () => NO_ROWS;
const oneRow: Statement = () => [{}];

const change = ({ lanes }: Tables, service: unknown, to: Partial<LaneRow>): object[] => {
  const lane = lanes.byService.get(service as string);
  return lane === undefined ? NO_ROWS : [{ id: Object.assign(lane, to).id }];
};

const lockHalted: Statement = (tables, [service]) => {
  const lane = tables.lanes.byService.get(service as string);
  if (lane === undefined) return NO_ROWS;
  const { id: laneId, haltedBy, haltReason: reason } = lane;
  const none = { status: null, seq: null, targetId: null, target: null, handler: null, reads: null, writes: null };
  const batch = haltedBy === null ? null : tables.batch(haltedBy);
  if (batch?.inLane == null) return [{ ...none, laneId, haltedBy, reason }];
  const { status, seq, reads, writes } = batch.inLane;
  const handler = tables.handler.name;
  const { id: targetId, key: target } = batch.target;
  return [{ laneId, haltedBy, reason, status, seq, targetId, target, handler, reads, writes }];
};

const endParkedBatch: Statement = (tables, [id, state, error]) => {
  const batch = tables.batch(id as number);
  if (batch.state !== 'unknown') return NO_ROWS;
  const end = batchStateName(state as number);
  for (const task of membersIn(batch))
    tables.end(task, end as 'succeeded' | 'failed', task.attempts + batch.counted, error as string | null);
  batch.attempt++;
  Object.assign(batch, { state: end, marked: false, retryAtMs: null, pollAtMs: null, error });
  return NO_ROWS;
};

const cancelMembers: Statement = (tables, [id]) => {
  const batch = tables.batch(id as number);
  if (batch.state !== 'open') return NO_ROWS;
  const members = membersIn(batch);
  for (const task of members) tables.end(task, 'cancelled', task.attempts + batch.counted, null);
  Object.assign(batch, { state: 'dissolved', left: batch.members.length, marked: false, carried: false });
  Object.assign(batch, { retryAtMs: null, pollAtMs: null, refused: false, error: 'cancelled' });
  const { handler } = tables;
  return members.map((task) => ({
    ...{ id: task.id, handler: handler.name, target: batch.target.key, recipientId: null, batchId: batch.id },
  }));
};

/** Makes accepted batches behind a place unknown, as the notice that they were lost does. */
const loseAccepted: Statement = (tables, [laneId, afterSeq, before, error]) => {
  const lane = tables.lanes.lane(laneId as number);
  const beforeMs = Date.parse(before as string);
  return [...lane.open].flatMap((batch) => {
    const { seq, status, changedAtMs } = batch.inLane!;
    const isNamed = isWithDownstream(status) && status !== STATUSES.submitted;
    if (!isNamed || seq <= (afterSeq as number) || changedAtMs > beforeMs) return [];
    const moved = batch.state === 'open' && batch.reference !== null && batch.pollAtMs !== null;
    if (moved) {
      batch.attempt++;
      Object.assign(batch, { carried: false, retryAtMs: tables.nowMs, pollAtMs: null, error, marked: true });
      tables.lanes.move(batch, STATUSES.unknown, tables.nowMs);
      Object.assign(batch.inLane!, { resolving: false, notBeforeMs: null, lookUps: 0 });
      lane.ready = true;
    }
    return [{ batchId: batch.id, seq, moved }];
  });
};

const cancelAccepted: Statement = (tables, [id], handler) => {
  const batch = tables.batches.get(id as number);
  if (batch === undefined) return NO_ROWS;
  const { state, reference, marked: calling, refused, target } = batch;
  const accepted = state === 'open' && reference !== null && !calling && !refused;
  if (accepted && handler.cancel !== undefined)
    throw new Error(
      `Cannot simulate the cancellation of batch ${batch.id}: expected one that the downstream does not have, ` +
        'got one that it has accepted. Test it with startMuster.',
    );
  const names = { handler: handler.name, target: target.key };
  return [{ ...names, state: BATCH_STATES[state], accepted, calling, cancels: false, cancellation: null }];
};

export const CONTROLS: Readonly<Record<string, Statement>> = {
  'read-lane': ({ lanes }, [service]) => {
    const lane = lanes.byService.get(service as string);
    return lane === undefined ? NO_ROWS : [{ id: lane.id, service }];
  },
  'pause-lanes': (tables, [service, pausedFor]) => change(tables, service, { pausedFor: pausedFor as string }),
  'resume-lane': (tables, [service]) => change(tables, service, { pausedFor: null, holdMs: null, ready: true }),
  'set-lane-weight': (tables, [service, weight]) => change(tables, service, { weight: weight as number }),
  'set-queuer': ({ lanes: { queuer } }, [slots, strategy, depth]) => {
    queuer.slots = (slots as number | null) ?? queuer.slots;
    queuer.strategy = (strategy as number | null) ?? queuer.strategy;
    queuer.depth = (depth as number | null) ?? queuer.depth;
    return [{ id: 1 }];
  },
  'set-queuers-paused': ({ lanes: { queuer } }, [reason]) => {
    queuer.pausedFor = reason as string | null;
    return [{ id: 1 }];
  },
  'lock-halting-batch': nothing,
  'lock-halted': lockHalted,
  'reopen-parked': (tables, [id]) => {
    const batch = tables.batch(id as number);
    if (batch.state !== 'unknown') return NO_ROWS;
    batch.attempt++;
    Object.assign(batch, { state: 'open', marked: false, carried: false, retryAtMs: null, reference: null });
    Object.assign(batch, { pollAtMs: null, unsure: true });
    return NO_ROWS;
  },
  // Its rows are only for callbacks, which are not simulated.
  'read-parked-members': nothing,
  'end-parked-batch': endParkedBatch,
  'read-batch-in-lane': (tables, [id]) => {
    const batch = tables.batches.get(id as number);
    if (batch?.inLane == null) return NO_ROWS;
    const { lane, status } = batch.inLane;
    return [{ laneId: lane.id, service: lane.service, status, calling: batch.marked, unsure: batch.unsure }];
  },
  'lock-lane-states': nothing,
  'lock-free-batch': oneRow,
  'cancel-members': cancelMembers,
  'lock-to-cancel': nothing,
  'cancel-accepted': cancelAccepted,
  'find-dependent-lanes': (tables, [id]) =>
    tables.lanes
      .dependentLanes([id as number], (batch) => tables.batch(batch))
      .map((lane) => {
        lane.ready = true; // the client rings it
        return { laneId: lane.id };
      }),
  'find-lane-positions': (tables, [id, reference]) =>
    [...tables.batches.values()]
      .filter((batch) => batch.inLane !== null && (batch.id === id || batch.reference === reference))
      .map(({ id: batchId, inLane }) => ({ batchId, service: inLane!.lane.service, seq: inLane!.seq })),
  'read-time': ({ nowMs }) => [{ at: new Date(nowMs).toISOString() }],
  'lose-accepted': loseAccepted,
  // What is due is looked up at each instant: nothing sleeps that would have to be woken.
  'queuers-of': nothing,
  'wake-queuers': nothing,
};
