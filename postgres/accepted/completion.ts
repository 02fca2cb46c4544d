import type { CarriedBatch } from '../calls/batch';
import { aheadOf, CARRIED } from '../calls/batch';
import { createdUs } from '../created';
import type { Queryable } from '../pool';

/**
 * Statements of a completion from outside: a caller reports the outcome of an accepted batch, so
 * the monitor need not poll for it.
 */

/**
 * What is kept with the batch that a completion settled: the digest tells a repeated report from a
 * different one, and a repeat gets the same answer.
 */
export interface CompletionNote {
  digest: string;
  /**
   * Results by status, missing ones under the status they count as; null: reported without results.
   */
  results: Record<'ok' | 'retry' | 'failed' | 'unknown', number> | null;
}

export interface ReportedBatch extends CarriedBatch {
  leaderId: number;
  state: number;
  reference: string | null;
  /**
   * A call of the batch is in progress, or its process died during the call and the outcome is not
   * concluded yet.
   */
  calling: boolean;
  /** The downstream may have the whole batch, so its report counts. */
  open: boolean;
  note: CompletionNote | null;
}

const reported = (where: string): string => `
select c.*, b.leader_id as "leaderId", b.state, b.reference, b.attempt_until is not null as calling,
  b.completion as note,
  b.attempt_until is null and not b.refused and b.n_left = 0 and (b.state = 3 /* unknown */
    or b.state = 1 /* open */ and (b.reference is not null or b.unsure)) as open
from (${CARRIED} where h.name = $1 and ${where}) c join batch b on b.id = c.id
order by b.state in (1 /* open */, 3 /* unknown */) desc, b.id desc limit 2`;

/**
 * Returns the batches that were accepted under this reference, open ones first, then the latest; at
 * most two.
 */
export const findReportedByReference = async (
  db: Queryable,
  handler: string,
  reference: string,
): Promise<ReportedBatch[]> => {
  const { rows } = await db.query<ReportedBatch>({
    name: 'find-reported-by-reference',
    text: reported('b.reference = $2'),
    values: [handler, reference],
  });
  return aheadOf(rows);
};

/** Returns the batch of this id; null: this handler has none. */
export const findReportedById = async (
  db: Queryable,
  handler: string,
  batchId: number,
): Promise<ReportedBatch | null> => {
  const { rows } = await db.query<ReportedBatch>({
    name: 'find-reported-by-id',
    text: reported('b.id = $2'),
    values: [handler, batchId],
  });
  return aheadOf(rows)[0] ?? null;
};

/**
 * Takes the batch for a reading of results and returns the attempt number under which they are
 * read; null: another reader has taken it, or the batch has ended. The monitor polls again after
 * the lease.
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
update batch set attempt = attempt + 1, read_at = clock(),
  poll_at = case when state = 1 /* open */ and reference is not null then clock() + $3 * interval '1 ms' end
where id = $1 and attempt = $2 and state in (1 /* open */, 3 /* unknown */) and attempt_until is null and not refused
  and (state = 3 /* unknown */ or reference is not null or unsure)
returning attempt`,
    values: [id, attempt, leaseMs],
  });
  return rows[0]?.attempt ?? null;
};

/** Keeps the completion's note, in the transaction that settles the batch. */
export const noteCompletion = async (db: Queryable, id: number, note: CompletionNote): Promise<void> => {
  await db.query({
    name: 'note-completion',
    text: 'update batch set completion = $2 where id = $1',
    values: [id, JSON.stringify(note)],
  });
};

/**
 * Says whether calls of the handler are in progress: one of them may yet be accepted under a
 * reference that the store does not know.
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
 * Returns the handler of a batch; null: there is none of this id that was created then, or it was
 * deleted after its retention period.
 */
export const handlerOfBatch = async (
  db: Queryable,
  batch: Pick<CarriedBatch, 'id' | 'createdUs'>,
): Promise<string | null> => {
  const { rows } = await db.query<{ handler: string }>({
    name: 'handler-of-batch',
    text: `
select h.name as handler
from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
where b.id = $1 and ${createdUs('b')} = $2`,
    values: [batch.id, batch.createdUs],
  });
  return rows[0]?.handler ?? null;
};
