import type { CarriedBatch } from '../calls/batch';
import { aheadOf, CARRIED } from '../calls/batch';
import { createdUs } from '../created';
import type { Queryable } from '../pool';

/**
 * Completion from outside (H7): somebody tells what became of a batch that the downstream has, and
 * nobody need ask.
 */

/**
 * Kept with the batch that it settled: the same told again is known by its digest and answered the
 * same.
 */
export interface CompletionNote {
  digest: string;
  /** Results by status, missing ones as what they count for; null: told without results. */
  results: Record<'ok' | 'retry' | 'failed' | 'unknown', number> | null;
}

export interface ToldBatch extends CarriedBatch {
  leaderId: number;
  state: number;
  reference: string | null;
  /** A call of it is under way, or its process died in it and nobody has concluded that yet. */
  calling: boolean;
  /** The downstream may have it, whole: what it tells counts. */
  open: boolean;
  note: CompletionNote | null;
}

const told = (where: string): string => `
select c.*, b.leader_id as "leaderId", b.state, b.reference, b.attempt_until is not null as calling,
  b.completion as note,
  b.attempt_until is null and not b.refused and b.n_left = 0 and (b.state = 3 /* unknown */
    or b.state = 1 /* open */ and (b.reference is not null or b.unsure)) as open
from (${CARRIED} where h.name = $1 and ${where}) c join batch b on b.id = c.id
order by b.state in (1 /* open */, 3 /* unknown */) desc, b.id desc limit 2`;

/** Those that were accepted under this reference: open ones first, then the latest; two at most. */
export const findToldByReference = async (db: Queryable, handler: string, reference: string): Promise<ToldBatch[]> => {
  const { rows } = await db.query<ToldBatch>({
    name: 'find-told-by-reference',
    text: told('b.reference = $2'),
    values: [handler, reference],
  });
  return aheadOf(rows);
};

/** The batch of this id; null: there is none of it with this handler. */
export const findToldById = async (db: Queryable, handler: string, batchId: number): Promise<ToldBatch | null> => {
  const { rows } = await db.query<ToldBatch>({
    name: 'find-told-by-id',
    text: told('b.id = $2'),
    values: [handler, batchId],
  });
  return aheadOf(rows)[0] ?? null;
};

/**
 * The attempt number under which the results are read now; null: someone else has taken it, or it
 * is over. Asked about again after the lease.
 */
export const takeCompletion = async (
  db: Queryable,
  id: number,
  attempt: number,
  leaseMs: number,
): Promise<number | null> => {
  const { rows } = await db.query<{ attempt: number }>({
    name: 'take-completion',
    text: `
update batch set attempt = attempt + 1, poll_at = case when state = 1 /* open */
  and reference is not null then clock() + $3 * interval '1 ms' end
where id = $1 and attempt = $2 and state in (1 /* open */, 3 /* unknown */) and attempt_until is null
  and not refused and (state = 3 /* unknown */ or reference is not null or unsure) returning attempt`,
    values: [id, attempt, leaseMs],
  });
  return rows[0]?.attempt ?? null;
};

/** In the transaction that settles the batch. */
export const noteCompletion = async (db: Queryable, id: number, note: CompletionNote): Promise<void> => {
  await db.query({
    name: 'note-completion',
    text: 'update batch set completion = $2 where id = $1',
    values: [id, JSON.stringify(note)],
  });
};

/**
 * Calls of the handler are under way: one of them may yet be accepted under a reference that nobody
 * knows here.
 */
export const isCalling = async (db: Queryable, handler: string): Promise<boolean> => {
  const { rows } = await db.query<{ calling: boolean }>({
    name: 'is-calling',
    text: `
select exists (
  select from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
  where h.name = $1 and b.state = 1 /* open */ and b.attempt_until is not null) as calling`,
    values: [handler],
  });
  return rows[0]!.calling;
};

/**
 * Whose batch it is; null: there is none of this id that was created then (or its retention is
 * over).
 */
export const handlerOfBatch = async (
  db: Queryable,
  batch: Pick<CarriedBatch, 'id' | 'createdUs'>,
): Promise<string | null> => {
  const { rows } = await db.query<{ handler: string }>({
    name: 'handler-of-batch',
    text: `
select h.name as handler from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
where b.id = $1 and ${createdUs('b')} = $2`,
    values: [batch.id, batch.createdUs],
  });
  return rows[0]?.handler ?? null;
};
