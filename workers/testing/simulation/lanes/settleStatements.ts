import { STATUSES } from '../../../../workflows/planning/lanes/statuses';
import type { Page } from '../settling';
import { close, countAttempt, keepPage } from '../settling';
import type { Statement } from '../statement';
import { NO_ROWS } from '../statement';
import type { Tables } from '../tables';
import { membersIn } from '../tables';
import { hasNotEnded, isWithDownstream } from './laneTables';
import type { BatchRow, LaneRow } from '../rows';

/** What the statements that settle a batch in its lane do to a simulated store. */

const openPlace = (tables: Tables, id: unknown) => {
  const batch = tables.batch(id as number);
  return batch.inLane !== null && hasNotEnded(batch.inLane.status) ? { batch, place: batch.inLane } : null;
};

const moveLaneBatch: Statement = (tables, [id, given, inMs, lookUps, overdue]) => {
  const found = openPlace(tables, id);
  if (found === null) return NO_ROWS;
  const { batch, place } = found;
  const was = place.status;
  const status = given as number;
  tables.lanes.move(batch, status, tables.nowMs);
  place.resolving = false;
  place.notBeforeMs = inMs === null ? null : tables.nowMs + (inMs as number);
  place.lookUps = status === STATUSES.unknown ? place.lookUps + (lookUps as number) : 0;
  place.overdue += overdue as number;
  place.lane.ready = true;
  return [{ laneId: place.lane.id, was, onInvalid: place.lane.onInvalid }];
};

const unhalt = (lane: LaneRow): void => {
  Object.assign(lane, { haltedBy: null, haltReason: null, ready: true });
};

const markDependents = (tables: Tables, ids: readonly number[]): object[] =>
  tables.lanes
    .dependentLanes(ids, (id) => tables.batch(id))
    .map((lane) => {
      lane.ready = true;
      return { laneId: lane.id };
    });

const settleLanesSucceeded: Statement = (tables, [batches, pages]) => {
  const rows: object[] = [];
  for (const { id, attempt } of JSON.parse(batches as string) as { id: number; attempt: number }[]) {
    const batch = tables.batch(id);
    if (batch.attempt !== attempt || (batch.state !== 'open' && batch.state !== 'unknown')) continue;
    countAttempt(batch, 1);
    for (const task of membersIn(batch)) tables.end(task, 'succeeded', task.attempts + batch.counted, null);
    close(batch, 'succeeded', null);
    const found = openPlace(tables, id);
    if (found === null) continue;
    const { lane } = found.place;
    tables.lanes.move(batch, STATUSES.committed, tables.nowMs);
    found.place.notBeforeMs = null;
    lane.ready = true;
    if (lane.haltedBy === id) unhalt(lane);
    rows.push({ id, laneId: lane.id, awaited: tables.ended.length > 0 });
  }
  for (const page of JSON.parse(pages as string) as Page[]) keepPage(tables, page);
  return rows;
};

interface Accepted {
  id: number;
  attempt: number;
  reference: string;
  every_ms: number;
  deadline_ms: number;
}

const acceptInLanes: Statement = (tables, [json]) =>
  (JSON.parse(json as string) as Accepted[]).flatMap(({ id, attempt, reference, every_ms, deadline_ms }) => {
    const batch = tables.batch(id);
    if (batch.attempt !== attempt || batch.state !== 'open') return [];
    if (!batch.marked && batch.reference === null) return [];
    const { nowMs } = tables;
    Object.assign(batch, { reference, pollAtMs: nowMs + every_ms, pollUntilMs: nowMs + deadline_ms });
    Object.assign(batch, { marked: false, carried: false, refusals: 0, error: null });
    const found = openPlace(tables, id);
    if (found !== null) acceptInLane(tables, found.batch);
    return [{ id }];
  });

const acceptInLane = (tables: Tables, batch: BatchRow): void => {
  const place = batch.inLane!;
  // Only where the downstream keeps the order may the next one go now.
  if (place.lane.kind === 0 || !isWithDownstream(place.status)) place.lane.ready = true;
  tables.lanes.move(batch, STATUSES.pending, tables.nowMs);
  Object.assign(place, { notBeforeMs: null, lookUps: 0 });
};

export const SETTLEMENTS: Readonly<Record<string, Statement>> = {
  'move-lane-batch': moveLaneBatch,
  'settle-lanes-succeeded': settleLanesSucceeded,
  'accept-in-lanes': acceptInLanes,
  'ready-dependents': (tables, [id]) => markDependents(tables, [id as number]),
  'ready-all-dependents': (tables, [ids]) => markDependents(tables, ids as number[]),
  'mark-resolving': (tables, [id]) => {
    const { inLane } = tables.batch(id as number);
    if (inLane?.status === STATUSES.submitted) inLane.resolving = true;
    return NO_ROWS;
  },
  'read-look-ups': (tables, [id]) => {
    const { inLane, error } = tables.batch(id as number);
    return inLane === null ? NO_ROWS : [{ lookUps: inLane.lookUps, error }];
  },
  'postpone-in-lane': (tables, [id, attempt, inMs, error]) => {
    const batch = tables.batch(id as number);
    if (batch.attempt !== attempt || batch.state !== 'open') return NO_ROWS;
    const retryAtMs = tables.nowMs + (inMs as number);
    Object.assign(batch, { carried: false, retryAtMs, marked: true, pollAtMs: null, error });
    return [batch];
  },
  'end-halt-by': ({ lanes }, [laneId, id]) => {
    const lane = lanes.lane(laneId as number);
    if (lane.haltedBy === id) unhalt(lane);
    return NO_ROWS;
  },
  'halt-lane': ({ lanes }, [laneId, id, reason]) => {
    const lane = lanes.lane(laneId as number);
    if (lane.haltedBy === null) Object.assign(lane, { haltedBy: id, haltReason: reason });
    return NO_ROWS;
  },
  'unhalt-lane': ({ lanes }, [laneId]) => {
    unhalt(lanes.lane(laneId as number));
    return NO_ROWS;
  },
  'hold-lane': ({ lanes, nowMs }, [laneId, inMs]) => {
    const lane = lanes.lane(laneId as number);
    lane.holdMs = Math.max(lane.holdMs ?? 0, nowMs + (inMs as number));
    return NO_ROWS;
  },
  'hand-dependencies': (tables, [id]) =>
    tables.lanes.dependencies
      .filter(({ batch, needs }) => batch === id && tables.batch(needs).inLane !== null)
      .map((dependency) => {
        dependency.handed = true;
        const { reference, inLane } = tables.batch(dependency.needs);
        return { batch: dependency.needs, reference, status: inLane!.status };
      }),
};
