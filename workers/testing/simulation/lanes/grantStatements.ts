import type { LaneChange } from '../../../../postgres/lanes/grant';
import { UNLIMITED_CALLS } from '../../../../workflows/planning/lanes/tokens';
import { STATUSES } from '../../../../workflows/planning/lanes/statuses';
import type { Statement } from '../statement';
import { NO_ROWS } from '../statement';
import type { Tables } from '../tables';
import { membersIn } from '../tables';
import { hasNotEnded, isUnsent } from './laneTables';
import { callsInFlight } from './tokenStatements';
import type { BatchRow, LaneRow } from '../rows';

/** What the statements of one grant do to a simulated store. */

const mayBeReady = ({ pausedFor, haltedBy }: LaneRow): boolean => pausedFor === null && haltedBy === null;
const byServed = (a: LaneRow, b: LaneRow): number => a.served - b.served || a.id - b.id;
const inMs = (atMs: number | null, { nowMs }: Tables): number | null => (atMs === null ? null : atMs - nowMs);

const promoteDueLanes: Statement = (tables, [, limit], handler) => {
  const { lanes, nowMs } = tables;
  const most = limit as number;
  const isDue = ({ ready, dueAtMs }: LaneRow): boolean => !ready && dueAtMs !== null && dueAtMs <= nowMs;
  const held = lanes.all.filter(({ ready, blockedBy }) => !ready && blockedBy !== null);
  if (held.length > 0) {
    const due = held.filter(isDue).sort((a, b) => a.dueAtMs! - b.dueAtMs!);
    const calls = Math.min(handler.concurrency.perHandler, tables.handler.allowed ?? Infinity);
    const free = Math.max(0, Math.min(most, calls - callsInFlight(tables)));
    const freed = new Set([...due.slice(0, most), ...held.sort(byServed).slice(0, free)]);
    promote([...freed].sort(byServed).slice(0, most));
  }
  promote(lanes.all.filter((lane) => isDue(lane) && lane.blockedBy === null));
  return NO_ROWS;
};

const promote = (lanes: readonly LaneRow[]): void => {
  for (const lane of lanes) Object.assign(lane, { ready: true, dueAtMs: null, blockedBy: null });
};

/** The sequence of what a lane sends next; a lane with nothing comes last. */
const sequenceOf = ({ open, queue }: LaneRow): number =>
  Math.min(open.find(({ inLane }) => isUnsent(inLane!.status))?.inLane!.seq ?? Infinity, queue[0]?.seq ?? Infinity);

const readyLanes = (tables: Tables, limit: unknown, compare: (a: LaneRow, b: LaneRow) => number): object[] =>
  tables.lanes.all
    .filter((lane) => lane.ready && mayBeReady(lane))
    .sort(compare)
    .slice(0, limit as number)
    .map(({ id }) => ({ id }));

const lockReadyLanes: Statement = (tables, [ids]) =>
  tables.lanes
    .those(ids)
    .filter(mayBeReady)
    .map((lane) => {
      const { id, service, kind, approach, onInvalid, pendingLimit, weight, deficit, served, partition } = lane;
      const { pending, saturated, holdMs } = lane;
      return {
        ...{ id, service, kind, approach, onInvalid, pendingLimit, weight, deficit, served, pending, saturated },
        ...{ holdInMs: inMs(holdMs, tables), partition },
      };
    });

const readOpenBatches: Statement = (tables, [ids, windows], handler) =>
  tables.lanes.those(ids).flatMap(({ id: laneId, open }, i) =>
    open
      .filter(({ inLane }) => inLane!.status !== STATUSES.refused)
      .slice(0, (windows as number[])[i])
      .map((batch) => {
        const { target, inLane: place, weight: load, members } = batch;
        const holds = [place!.notBeforeMs, tables.handler.holdMs, target.holdMs].filter((at) => at !== null);
        const { seq, status, resolving, reads, writes, weight, changedAtMs } = place!;
        const { waitsFor, failedOn } = needsOf(tables, batch, handler.lane.dependencies === 'downstream');
        return {
          ...{ laneId, id: batch.id, seq, status, resolving, reads, writes, weight, load, waitsFor, failedOn },
          ...{ handler: handler.name, handlerId: 1, timeoutMs: handler.timeoutMs, targetId: target.id },
          ...{ n: members.length, ageMs: tables.nowMs - changedAtMs, inVainMs: 0 },
          limited: isLimited(tables, batch, handler),
          notBeforeInMs: holds.length === 0 ? null : Math.max(...holds) - tables.nowMs,
          paused: tables.handler.pausedFor !== null || target.pausedFor !== null,
        };
      }),
  );

const isLimited = (
  tables: Tables,
  { target }: BatchRow,
  { concurrency, limits, rates }: Parameters<Statement>[2],
): boolean => {
  const { perTarget, perHandler } = limits.maxWeightInFlight;
  if (concurrency.perTarget < UNLIMITED_CALLS || concurrency.perHandler < UNLIMITED_CALLS) return true;
  if (perTarget !== undefined || perHandler !== undefined || rates.length > 0) return true;
  return tables.handler.allowed !== null || target.allowed !== null;
};

/** `known`: the downstream keeps dependencies itself, and so has those that it has accepted. */
const needsOf = (tables: Tables, { id }: BatchRow, known: boolean): { waitsFor: number[]; failedOn: number | null } => {
  const waitsFor: number[] = [];
  let failedOn: number | null = null;
  for (const { batch, needs } of tables.lanes.dependencies) {
    const status = batch === id ? tables.batch(needs).inLane?.status : undefined;
    if (status === undefined) continue;
    const isHandedOver = known && (status === STATUSES.pending || status === STATUSES.valid);
    if (hasNotEnded(status)) {
      if (!isHandedOver) waitsFor.push(needs);
    } else if (status !== STATUSES.committed) failedOn ??= needs;
  }
  return { waitsFor, failedOn };
};

const grantBatches: Statement = (tables, [ids, was, , starts]) => {
  for (const [i, id] of (ids as number[]).entries()) {
    const batch = tables.batch(id);
    const from = (was as number[])[i]!;
    if (batch.inLane!.status !== from) return [{ n: i }];
    const startMs = (starts as number[])[i]!;
    Object.assign(batch.inLane!, { status: STATUSES.submitted, notBeforeMs: null, changedAtMs: tables.nowMs });
    batch.inLane!.resolving = from === STATUSES.unknown;
    batch.carried = true;
    batch.retryAtMs = startMs > 0 ? tables.nowMs + startMs : null;
  }
  return [{ n: (ids as number[]).length }];
};

const updateLanes: Statement = ({ lanes, nowMs }, [json]) => {
  for (const change of JSON.parse(json as string) as LaneChange[]) {
    const { lane_id, deficit, served, pending, saturated, ready, due_in_ms, blocked_by } = change;
    const lane = lanes.lane(lane_id);
    Object.assign(lane, { deficit, served, pending, saturated, ready, blockedBy: blocked_by });
    lane.dueAtMs = due_in_ms === null ? null : nowMs + due_in_ms;
    lane.granted += change.granted;
    lane.haltedBy = change.halted_by;
    lane.haltReason = change.halt_reason;
  }
  return NO_ROWS;
};

const failDependent: Statement = (tables, [id, error]) => {
  const batch = tables.batch(id as number);
  if (batch.inLane!.status > STATUSES.delayed) return NO_ROWS;
  tables.lanes.move(batch, STATUSES['failed-dependency'], tables.nowMs);
  const members = membersIn(batch);
  for (const task of members) tables.end(task, 'failed', task.attempts + batch.counted, error as string);
  Object.assign(batch, { state: 'failed', carried: false, retryAtMs: null, error });
  return [{ handler: tables.handler.name, tasks: members.length }];
};

export const GRANTS: Readonly<Record<string, Statement>> = {
  'promote-due-lanes': promoteDueLanes,
  'find-ready-lanes': (tables, [, limit]) => readyLanes(tables, limit, byServed),
  'find-ready-lanes-by-sequence': (tables, [, limit]) =>
    readyLanes(tables, limit, (a, b) => {
      const [one, other] = [sequenceOf(a), sequenceOf(b)];
      return one === other ? a.id - b.id : one - other;
    }),
  'lock-ready-lanes': lockReadyLanes,
  'read-open-batches': readOpenBatches,
  'grant-batches': grantBatches,
  'update-lanes': updateLanes,
  'fail-dependent': failDependent,
  'update-round': ({ lanes }, [, round]) => {
    lanes.queuer.round = round as number;
    return NO_ROWS;
  },
};
