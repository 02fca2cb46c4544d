import { storedVersionOf } from '../../../handlers/contracts/payloadVersion';
import type { Handler } from '../../../handlers/types';
import {
  BATCH_STATES,
  batchStateName,
  FLUSH_REASONS,
  flushReasonName,
  taskStateName,
} from '../../../workflows/planning/states';
import { ACCEPTED } from './acceptedStatements';
import { DEPENDENTS } from './dependentStatements';
import { LANES } from './lanes/statements';
import { NODES } from './nodes/nodeStatements';
import type { Statement } from './statement';
import { NO_ROWS } from './statement';
import type { Page } from './settling';
import { close, countAttempt, keepPage, openAttempt, rest } from './settling';
import type { Tables } from './tables';
import { membersIn } from './tables';
import type { BatchRow } from './rows';

/**
 * What the statements of `postgres/calls`, by which a settlement is written, do to a simulated
 * store: by the name of each. Which of them are run, and with what, the product's own settlement
 * decides. That both do the same is checked by a test, against the real store.
 */
const nothing: Statement = () => NO_ROWS;

const settleSucceeded: Statement = (tables, [batches, pages]) => {
  const rows: object[] = [];
  const settled = JSON.parse(batches as string) as { id: number; attempt: number; counts: boolean; keyed?: boolean }[];
  for (const { id, attempt, counts, keyed } of settled) {
    const batch = tables.batch(id);
    if (batch.attempt !== attempt || (batch.state !== 'open' && batch.state !== 'unknown')) continue;
    countAttempt(batch, counts);
    for (const task of membersIn(batch)) {
      tables.end(task, 'succeeded', task.attempts + batch.counted, null);
      if (keyed === true) tables.freeKey(task);
    }
    close(batch, 'succeeded', null);
    rows.push({ id, awaited: tables.ended.length > 0 });
  }
  for (const page of JSON.parse(pages as string) as Page[]) keepPage(tables, page);
  return rows;
};

const finishBatch: Statement = (tables, [id, state, counts, left, error]) => {
  const batch = tables.batch(id as number);
  countAttempt(batch, counts);
  batch.left += left as number;
  const end = batchStateName(state as number);
  for (const task of membersIn(batch))
    tables.end(
      task,
      end as 'succeeded' | 'failed',
      task.attempts + batch.counted,
      end === 'failed' ? (error as string) : null,
    );
  close(batch, batch.left === batch.members.length ? 'dissolved' : end, error);
  return NO_ROWS;
};

const insertOutcomes: Statement = (tables, [, json]) => {
  const outcomes = JSON.parse(json as string) as {
    seq: number;
    state: number;
    attempts: number;
    error: string | null;
  }[];
  for (const { seq, state, attempts, error } of outcomes)
    tables.end(tables.bySeq.get(seq)!, taskStateName(state), attempts, error);
  return NO_ROWS;
};

const delayMembers: Statement = (tables, [json]) => {
  for (const { seq, attempts, in_ms } of JSON.parse(json as string) as {
    seq: number;
    attempts: number;
    in_ms: number;
  }[]) {
    const task = tables.bySeq.get(seq)!;
    task.attempts = attempts;
    tables.delay(task, tables.nowMs + in_ms);
  }
  return NO_ROWS;
};

const dissolveBatch: Statement = (tables, [id, counts, error]) => {
  const batch = tables.batch(id as number);
  countAttempt(batch, counts);
  const members = membersIn(batch);
  batch.refused = false;
  batch.left = batch.members.length;
  close(batch, 'dissolved', error);
  for (const task of members) {
    task.attempts += batch.counted;
    tables.enqueue(task, task.createdAtMs);
  }
  return NO_ROWS;
};

const insertChild: Statement = (tables, [parentId, seqs, state, reason, unconcluded, depth, error, inMs]) => {
  const parent = tables.batch(parentId as number);
  const members = (seqs as number[]).map((seq) => tables.bySeq.get(seq)!);
  const isSplit = reason === FLUSH_REASONS.split;
  const child = tables.addBatch(parent.target, [], {
    ...{
      members,
      reason: flushReasonName(reason as number),
      state: batchStateName(state as number),
      parentId: parent.id,
    },
    ...{ attempt: unconcluded === true ? 1 : 0, marked: unconcluded === true, depth: depth as number },
    weight: members.reduce((sum, { weight }) => sum + weight, 0),
    ...(isSplit ? { sentAs: parent.sentAs, startedAtMs: parent.startedAtMs, calledAtMs: parent.calledAtMs } : {}),
    ...{ error: error as string | null, retryAtMs: inMs === null ? null : tables.nowMs + (inMs as number) },
  });
  return [{ id: child.id }];
};

/** The members come from their parent with the attempt that it has just counted. */
const moveMembers: Statement = (tables, [parentId, childId, seqs]) => {
  const parent = tables.batch(parentId as number);
  for (const seq of seqs as number[]) {
    const task = tables.bySeq.get(seq)!;
    if (task.batch !== parent) continue;
    task.batch = tables.batch(childId as number);
    task.attempts += parent.counted + 1;
  }
  return NO_ROWS;
};

const deferBatch: Statement = (tables, [id, attempt, inMs, refused, counts, keep, error]) => {
  const batch = openAttempt(tables, id, attempt);
  if (batch === null) return NO_ROWS;
  countAttempt(batch, counts);
  batch.refusals = refused === true ? batch.refusals + 1 : 0;
  batch.unsure ||= counts === 1;
  batch.carried &&= keep === true;
  const unaccepted = { reference: null, pollAtMs: null };
  Object.assign(batch, { marked: false, retryAtMs: tables.nowMs + (inMs as number), error, ...unaccepted });
  return [batch];
};

const later = (heldMs: number | null, tables: Tables, inMs: unknown): number =>
  Math.max(heldMs ?? 0, tables.nowMs + (inMs as number));

const arrayText = (numbers: readonly number[]): string => `{${numbers.join(',')}}`;

const toMembers = (batch: BatchRow): object => {
  const members = membersIn(batch);
  const seqs = arrayText(members.map(({ seq }) => seq));
  const attempts = arrayText(members.map((task) => task.attempts));
  return { batchId: batch.id, counted: batch.counted, seqs, attempts };
};

const toContents = (batch: BatchRow, separator: string, handler: Handler): object => {
  const members = membersIn(batch);
  const version = storedVersionOf(handler);
  return {
    batchId: batch.id,
    seqs: arrayText(members.map(({ seq }) => seq)),
    ids: members.map(({ id }) => id),
    payloads: members.map(({ payload }) => payload).join(separator),
    rest: version === null ? null : members.map(() => [null, version, null, null]),
  };
};

export const STATEMENTS: Readonly<Record<string, Statement>> = {
  ...ACCEPTED,
  ...DEPENDENTS,
  ...LANES,
  ...NODES,
  'settle-succeeded': settleSucceeded,
  'finish-batch': finishBatch,
  'insert-outcomes': insertOutcomes,
  'delay-members': delayMembers,
  'dissolve-batch': dissolveBatch,
  'insert-child': insertChild,
  'move-members': moveMembers,
  'defer-batch': deferBatch,
  'note-fault': nothing,
  'note-ends': nothing, // of which there are no statistics
  // What is due is looked up at each instant: nothing sleeps that would have to be woken.
  'release-targets': nothing,
  'lower-due': nothing,
  'wake-leaders': nothing,
  'lock-parent': nothing,
  'insert-result-page': (tables, [batch_id, attempt, , , , results]) => {
    const parsed = JSON.parse(results as string) as Page['results'];
    keepPage(tables, { batch_id: batch_id as number, attempt: attempt as number, results: parsed });
    return NO_ROWS;
  },
  'read-members': (tables, [ids]) => (ids as number[]).map((id) => toMembers(tables.batch(id))),
  'read-member-contents': (tables, [ids, , separator], handler) =>
    (ids as number[]).map((id) => toContents(tables.batch(id), separator as string, handler)),
  'lock-attempt': (tables, [id, attempt]) => {
    const batch = tables.batch(id as number);
    if (batch.attempt !== attempt || (batch.state !== 'open' && batch.state !== 'unknown')) return NO_ROWS;
    const { reference } = batch;
    const concluded = !batch.marked && reference === null;
    return [{ state: BATCH_STATES[batch.state], concluded, reference }];
  },
  'find-sibling': (tables, [parentId, id]) =>
    [...tables.batches.values()]
      .filter((batch) => batch.parentId === parentId && batch.id !== id && batch.depth === 1)
      .map((batch) => ({ ...batch, state: BATCH_STATES[batch.state] })),
  'mark-refused': (tables, [id, error]) => {
    const batch = tables.batch(id as number);
    rest(batch);
    Object.assign(batch, { refused: true, error });
    return NO_ROWS;
  },
  'lock-refused': (tables, [id]) => [{ error: tables.batch(id as number).error }],
  'park-batch': (tables, [id, attempt, counts, error]) => {
    const batch = openAttempt(tables, id, attempt);
    if (batch === null) return NO_ROWS;
    countAttempt(batch, counts);
    rest(batch);
    Object.assign(batch, { state: 'unknown', pollAtMs: null, error });
    return [batch];
  },
  'postpone-look-up': (tables, [id, attempt, inMs]) => {
    const batch = openAttempt(tables, id, attempt);
    if (batch !== null) Object.assign(batch, { carried: false, retryAtMs: tables.nowMs + (inMs as number) });
    return NO_ROWS;
  },
  'free-keys': (tables, [ids]) => {
    for (const id of ids as number[]) for (const task of membersIn(tables.batch(id))) tables.freeKey(task);
    return NO_ROWS;
  },
  'hold-target': (tables, [id, inMs]) => {
    const target = tables.targetOf(id as number);
    target.holdMs = later(target.holdMs, tables, inMs);
    return NO_ROWS;
  },
  'pause-handler': (tables, [, reason]) => {
    tables.handler.pausedFor = reason as string;
    return [tables.handler];
  },
  'set-target-paused': (tables, [, key, reason]) => {
    const target = tables.target(key as string);
    target.pausedFor = reason as string | null;
    if (reason === null) target.holdMs = null;
    return [target];
  },
};
