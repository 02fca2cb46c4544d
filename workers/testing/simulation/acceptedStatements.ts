import type { Handler } from '../../../handlers/types';
import { BATCH_STATES } from '../../../workflows/planning/states';
import { storedBatch } from './carried';
import type { Statement } from './statement';
import { NO_ROWS } from './statement';
import type { Tables } from './tables';
import { membersIn } from './tables';
import type { BatchRow } from './rows';

/**
 * What the statements of `postgres/accepted` do to a simulated store: of batches that a downstream
 * has accepted and ends later, by polls or by a completion from outside.
 */

const isLive = ({ state }: BatchRow): boolean => state === 'open' || state === 'unknown';
const accepted = (tables: Tables): BatchRow[] =>
  [...tables.batches.values()].filter(({ state, reference }) => state === 'open' && reference !== null);

/** Claims a read, as `claimRead` and `takeCompletion` do: an attempt that counts for nothing. */
const claim = (tables: Tables, batch: BatchRow, leaseMs: unknown): object => {
  batch.attempt++;
  batch.pollAtMs = batch.state === 'open' && batch.reference !== null ? tables.nowMs + (leaseMs as number) : null;
  return { id: batch.id, attempt: batch.attempt };
};

const reported = (tables: Tables, handler: Handler, fits: (batch: BatchRow) => boolean): object[] =>
  [...tables.batches.values()]
    .filter(fits)
    .sort((a, b) => Number(isLive(b)) - Number(isLive(a)) || b.id - a.id)
    .slice(0, 2)
    .map((batch) => ({
      ...storedBatch(batch, handler, tables),
      leaderId: 1,
      state: BATCH_STATES[batch.state],
      reference: batch.reference,
      calling: batch.marked,
      note: batch.completion,
      open:
        !batch.marked &&
        !batch.refused &&
        batch.left === 0 &&
        (batch.state === 'unknown' || (batch.state === 'open' && (batch.reference !== null || batch.unsure))),
    }));

export const ACCEPTED: Readonly<Record<string, Statement>> = {
  'accept-batch': (tables, [id, attempt, reference, everyMs, deadlineMs]) => {
    const batch = tables.batch(id as number);
    if (batch.attempt !== attempt || batch.state !== 'open') return NO_ROWS;
    const polls = { pollAtMs: tables.nowMs + (everyMs as number), pollUntilMs: tables.nowMs + (deadlineMs as number) };
    Object.assign(batch, { reference, ...polls, marked: false, carried: false, refusals: 0, error: null });
    return [batch];
  },
  'read-accepted': (tables, [, limit], handler) =>
    accepted(tables)
      .filter(({ pollAtMs }) => pollAtMs !== null && pollAtMs <= tables.nowMs)
      .sort((a, b) => a.pollAtMs! - b.pollAtMs!)
      .slice(0, limit as number)
      .map((batch) => ({
        ...storedBatch(batch, handler, tables),
        reference: batch.reference,
        leaderId: 1,
        overdue: batch.pollUntilMs! <= tables.nowMs,
        deadlinesPassed: batch.inLane?.overdue ?? null,
      })),
  'claim-reads': (tables, [ids, attempts, leaseMs]) =>
    (ids as number[]).flatMap((id, i) => {
      const batch = tables.batch(id);
      const isOurs = batch.attempt === (attempts as number[])[i] && batch.reference !== null && isLive(batch);
      return isOurs ? [claim(tables, batch, leaseMs)] : [];
    }),
  'claim-read': (tables, [id, attempt, leaseMs]) => {
    const batch = tables.batch(id as number);
    if (batch.attempt !== attempt || batch.reference === null || !isLive(batch)) return NO_ROWS;
    return [claim(tables, batch, leaseMs)];
  },
  'put-off-polls': (tables, [ids, attempts, errors, inMs]) => {
    for (const [i, id] of (ids as number[]).entries()) {
      const batch = tables.batch(id);
      if (batch.attempt !== (attempts as number[])[i] || batch.state !== 'open' || batch.reference === null) continue;
      Object.assign(batch, { pollAtMs: tables.nowMs + (inMs as number), error: (errors as (string | null)[])[i] });
    }
    return NO_ROWS;
  },
  'stop-polling': (tables, [id, attempt]) => {
    const batch = tables.batch(id as number);
    if (batch.attempt === attempt && batch.state === 'open') batch.pollAtMs = null;
    return NO_ROWS;
  },
  'next-poll': (tables) => {
    const next = nextPollMs(tables);
    return next === Infinity ? NO_ROWS : [{ inMs: Math.max(0, Math.ceil(next - tables.nowMs)) }];
  },
  'past-deadline': (tables, [ids, graceMs]) =>
    (ids as number[])
      .filter((id) => (tables.batch(id).pollUntilMs ?? Infinity) <= tables.nowMs - (graceMs as number))
      .map((id) => ({ id })),
  'read-member-ids': (tables, [ids]) =>
    (ids as number[]).flatMap((id) => {
      const batch = tables.batch(id);
      return membersIn(batch).map(({ seq, id: task, attempts }) => ({
        ...{ batchId: batch.id, seq, id: task, payload: 'null', attempts: attempts + batch.counted },
        ...{ recipientId: null, version: null, trace: null, tracedAtMs: null },
      }));
    }),
  'halt-handler': (tables, [, reason]) => {
    tables.handler.pausedFor ??= reason as string;
    return NO_ROWS;
  },
  'halt-target': (tables, [id, reason]) => {
    tables.targetOf(id as number).pausedFor ??= reason as string;
    return NO_ROWS;
  },
  'find-reported-by-reference': (tables, [, reference], handler) =>
    reported(tables, handler, (batch) => batch.reference === reference),
  'find-reported-by-id': (tables, [, id], handler) => reported(tables, handler, (batch) => batch.id === id),
  'take-completion': (tables, [id, attempt, leaseMs]) => {
    const batch = tables.batch(id as number);
    const may = batch.state === 'unknown' || batch.reference !== null || batch.unsure;
    if (batch.attempt !== attempt || !isLive(batch) || batch.marked || batch.refused || !may) return NO_ROWS;
    return [claim(tables, batch, leaseMs)];
  },
  'note-completion': (tables, [id, note]) => {
    tables.batch(id as number).completion = JSON.parse(note as string);
    return NO_ROWS;
  },
  'is-calling': () => [{ calling: false }],
  // Nothing is cancelled in a simulated world, and what a downstream is asked to stop says nothing.
  'is-cancelled': () => [{ cancelled: false }],
  'give-up': () => NO_ROWS,
};

/** Returns when the next status request is due; Infinity: none is. */
export const nextPollMs = (tables: Tables): number =>
  accepted(tables).reduce((next, { pollAtMs }) => Math.min(next, pollAtMs ?? Infinity), Infinity);
