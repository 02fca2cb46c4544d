import { SEQ_STRIDE } from '../../../../postgres/grouping/task';
import { flushReasonName } from '../../../../workflows/planning/states';
import type { Statement } from '../statement';
import { NO_ROWS } from '../statement';
import type { Tables } from '../tables';
import { costOf, isUnsent } from './laneTables';
import type { BatchRow, TargetRow, TaskRow } from '../rows';

/**
 * What the statements by which a client submits into lanes do to a simulated store: those that
 * register targets and lanes, and those that put tasks and batches into them.
 */

const nothing: Statement = () => NO_ROWS;

interface NewTask {
  id: string;
  payload: string;
  bytes: number;
  weight: number | null;
  key: string | null;
}

/** Stores a task that is in no batch yet. Its insertion can be undone, as by a rollback. */
const insertTask = (tables: Tables, target: TargetRow, seq: number, task: NewTask): TaskRow => {
  const row: TaskRow = {
    ...{ id: task.id, payload: task.payload, target, bytes: task.bytes, weight: task.weight ?? 1 },
    ...{ key: task.key, priority: 0, seq, createdAtMs: tables.nowMs, readyAtMs: tables.nowMs },
    ...{ notBeforeMs: 0, attempts: 0, place: 'queue', batch: null, sets: null, end: null },
  };
  tables.tasks.set(row.id, row);
  tables.bySeq.set(seq, row);
  tables.undo.push(() => {
    tables.tasks.delete(row.id);
    tables.bySeq.delete(seq);
  });
  return row;
};

const keysOf = (json: unknown): string[] => JSON.parse(json as string) as string[];

const insertLaneTasks: Statement = (tables, values) => {
  const [ids, targets, lanes, payloads, bytes, weights, , reads, writes, keys] = values as unknown[][];
  const base = tables.nextCall() * SEQ_STRIDE;
  return (ids as string[]).flatMap((id, i) => {
    if (tables.tasks.has(id)) return [];
    const row = insertTask(tables, tables.targetOf(targets![i] as number), base + i, {
      ...{ id, payload: payloads![i] as string, bytes: bytes![i] as number },
      ...{ weight: weights![i] as number | null, key: keys![i] as string | null },
    });
    row.sets = { reads: keysOf(reads![i]), writes: keysOf(writes![i]) };
    const { queue } = tables.lanes.lane(lanes![i] as number);
    queue.push(row);
    tables.undo.push(() => void queue.splice(queue.indexOf(row), 1));
    return [{ id }];
  });
};

const insertLaneBatch: Statement = (tables, values) => {
  const [ids, payloads, bytes, weights, , targetId, reason, laneId, , reads, writes, place] = values;
  const base = tables.nextCall() * SEQ_STRIDE;
  if ((ids as string[]).some((id) => tables.tasks.has(id))) return [{ batchId: null, seq: base }];
  const target = tables.targetOf(targetId as number);
  const members = (ids as string[]).map((id, i) =>
    insertTask(tables, target, base + i, {
      ...{ id, payload: (payloads as string[])[i]!, bytes: (bytes as number[])[i]! },
      ...{ weight: (weights as (number | null)[])[i]!, key: null },
    }),
  );
  const weight = members.reduce((sum, task) => sum + task.weight, 0);
  const batch = tables.addBatch(target, members, { reason: flushReasonName(reason as number), weight });
  standAt(tables, batch, {
    laneId: laneId as number,
    seq: (place as number | null) ?? base,
    ...{ reads: reads as string[], writes: writes as string[] },
  });
  tables.undo.push(() => {
    tables.lanes.leave(batch);
    tables.batches.delete(batch.id);
  });
  return [{ batchId: batch.id, seq: base }];
};

interface Standing {
  laneId: number;
  seq: number;
  reads: readonly string[];
  writes: readonly string[];
}

/** Puts a batch that was not sent yet at its place in its lane. */
export const standAt = (tables: Tables, batch: BatchRow, { laneId, ...at }: Standing): void => {
  const fresh = { status: 0, resolving: false, notBeforeMs: null, lookUps: 0, overdue: 0 };
  const lane = tables.lanes.lane(laneId);
  tables.lanes.insert(batch, { ...fresh, ...at, lane, weight: costOf(batch.weight), changedAtMs: tables.nowMs });
};

/** Counts tasks that the downstream does not have: in queues, and in batches that were not sent. */
const countQueued = ({ lanes }: Tables, isMeant: (target: TargetRow) => boolean): number => {
  let n = 0;
  for (const { queue, open } of lanes.all) {
    for (const { target } of queue) if (isMeant(target)) n++;
    for (const { inLane, target, members } of open)
      if (isUnsent(inLane!.status) && isMeant(target)) n += members.length;
  }
  return n;
};

const findGiven: Statement = (tables, [ids]) =>
  (ids as string[]).flatMap((id) => {
    const task = tables.tasks.get(id);
    if (task === undefined) return [];
    const first = Math.floor(task.seq / SEQ_STRIDE) * SEQ_STRIDE;
    const given = [...tables.batches.values()].find(
      ({ reason, members }) => reason === 'given' && members[0]!.seq === first,
    );
    const members = given?.members ?? [];
    const place = members.indexOf(task) + 1;
    return [{ id, batchId: given?.id ?? null, place, n: members.length, seq: first }];
  });

export const SUBMITS: Readonly<Record<string, Statement>> = {
  'register-handler': nothing,
  'find-handler': (tables, _, { ordered }) => (ordered ? [{ id: 1, name: tables.handler.name, leaders: 1 }] : NO_ROWS),
  'register-partition-leases': nothing,
  'register-partitions': nothing,
  'register-leaders': nothing,
  'register-targets': (tables, [, keys]) => {
    for (const key of keys as string[]) tables.target(key);
    return NO_ROWS;
  },
  'find-targets': (tables, [, keys]) =>
    (keys as string[]).flatMap((key) => {
      const target = tables.targets.get(key);
      return target === undefined ? [] : [{ id: target.id, key, leaderId: 1, lookedUpAtMs: tables.nowMs }];
    }),
  // A world deletes no target.
  'find-gone-targets': nothing,
  'register-lanes': ({ lanes }, [services]) => {
    for (const service of [...(services as string[])].sort()) lanes.register(service);
    return NO_ROWS;
  },
  'register-lane-states': nothing,
  'bind-partitions': ({ lanes }, [services, partitions]) => {
    for (const [i, service] of (services as string[]).entries())
      lanes.byService.get(service)!.partition ??= (partitions as string[])[i]!;
    return NO_ROWS;
  },
  'find-lanes': ({ lanes }, [services]) =>
    (services as string[]).flatMap((service) => {
      const lane = lanes.byService.get(service);
      return lane === undefined ? [] : [{ id: lane.id, service, queuerId: 1 }];
    }),
  // The rules of a world never change.
  'find-changed-lanes': nothing,
  'bind-targets': (tables, [targets, lanes]) => {
    for (const [i, id] of (targets as number[]).entries())
      tables.targetOf(id).lane ??= tables.lanes.lane((lanes as number[])[i]!);
    return NO_ROWS;
  },
  'find-lanes-of-targets': (tables, [targets]) =>
    (targets as number[]).flatMap((id) => {
      const { lane } = tables.targetOf(id);
      return lane === null ? [] : [{ id, laneId: lane.id }];
    }),
  'lock-lanes': nothing,
  'count-queued-in-lanes': (tables) => [{ n: countQueued(tables, () => true) }],
  'count-queued-in-lanes-of-targets': (tables, [targets]) =>
    (targets as number[]).map((targetId) => ({ targetId, n: countQueued(tables, ({ id }) => id === targetId) })),
  'insert-labels': nothing,
  'insert-lane-tasks': insertLaneTasks,
  'insert-lane-batch': insertLaneBatch,
  'find-tasks': (tables, [ids]) =>
    (ids as string[]).flatMap((id) => {
      const task = tables.tasks.get(id);
      if (task === undefined) return [];
      return [{ id, payload: task.payload, version: null, handler: tables.handler.name, target: task.target.key }];
    }),
  'find-given': findGiven,
  'lock-depended-on': (tables, [ids]) =>
    (ids as number[]).flatMap((batchId) => {
      const place = tables.batches.get(batchId)?.inLane ?? null;
      return place === null ? [] : [{ batchId, status: place.status, service: place.lane.service }];
    }),
  'insert-dependencies': ({ lanes }, [batches, needs]) => {
    for (const [i, batch] of (batches as number[]).entries())
      lanes.dependencies.push({ batch, needs: (needs as number[])[i]!, handed: false });
    return NO_ROWS;
  },
};
