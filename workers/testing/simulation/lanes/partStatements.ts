import { BATCH_STATES } from '../../../../workflows/planning/states';
import type { Statement } from '../statement';
import { NO_ROWS } from '../statement';
import type { Tables } from '../tables';
import { costOf, hasNotEnded } from './laneTables';
import type { BatchRow, Dependency } from '../rows';

/** What the statements about parts of a lane batch do to a simulated store: halves, and retries. */

const insertPart: Statement = (tables, [id, parentId, status, inMs]) => {
  const part = tables.batch(id as number);
  const parent = tables.batch(parentId as number);
  const { lane, seq, reads, writes } = parent.inLane!;
  tables.lanes.insert(part, {
    ...{ lane, reads, writes, status: status as number, resolving: false, lookUps: 0, overdue: 0 },
    seq: seq + parent.members.indexOf(part.members[0]!),
    weight: costOf(part.weight),
    notBeforeMs: inMs === null ? null : tables.nowMs + (inMs as number),
    changedAtMs: tables.nowMs,
  });
  return NO_ROWS;
};

const dependOnPart: Statement = (tables, [part, parent]) => {
  const { dependencies } = tables.lanes;
  const isOpen = (id: number): boolean => {
    const place = tables.batch(id).inLane;
    return place !== null && hasNotEnded(place.status);
  };
  const added: Dependency[] = [];
  for (const { batch, needs, handed } of dependencies) {
    if (needs === parent && isOpen(batch)) added.push({ batch, needs: part as number, handed });
    if (batch === parent) added.push({ batch: part as number, needs, handed: false });
  }
  for (const one of added)
    if (!dependencies.some(({ batch, needs }) => batch === one.batch && needs === one.needs)) dependencies.push(one);
  return NO_ROWS;
};

/** Whether a half is the first of its pair, and of all that its batch was split from. */
const isFirst = (tables: Tables, half: BatchRow): boolean => {
  const { seq } = half.members[0]!;
  for (let at: BatchRow | null = half; at !== null;) {
    if (at.members[0]!.seq !== seq) return false;
    at = at.depth === 0 || at.parentId === null ? null : tables.batch(at.parentId);
  }
  return true;
};

const findPair: Statement = (tables, [parentId, id]) => {
  const half = tables.batch(id as number);
  const other = [...tables.batches.values()].find(
    (one) => one.parentId === parentId && one !== half && one.depth === half.depth,
  );
  if (other === undefined) return NO_ROWS;
  const { attempt, refused } = other;
  const isBefore = other.members[0]!.seq > half.members[0]!.seq;
  const leads = isBefore && isFirst(tables, half) && half.inLane?.lane.onInvalid === 0;
  return [{ id: other.id, attempt, state: BATCH_STATES[other.state], refused, leads }];
};

export const PARTS: Readonly<Record<string, Statement>> = {
  'insert-part': insertPart,
  'depend-on-part': dependOnPart,
  'find-pair': findPair,
  'reopen-refused': (tables, [id]) => {
    const batch = tables.batch(id as number);
    if (batch.state === 'open' && batch.refused)
      Object.assign(batch, { refused: false, reference: null, pollAtMs: null });
    return NO_ROWS;
  },
  'delete-lane-batch': (tables, [id]) => {
    const batch = tables.batch(id as number);
    if (batch.inLane === null) return NO_ROWS;
    const { lane } = batch.inLane;
    // As of an end: what was in flight is in flight no more.
    if (hasNotEnded(batch.inLane.status)) tables.lanes.move(batch, GONE, tables.nowMs);
    batch.inLane = null;
    lane.ready = true;
    return NO_ROWS;
  },
};
/** Any status of an end. */
const GONE = 12;
