import type { Door } from '../../workflows/contracts/audit';
import type { Queryable } from '../pool';

/** Statements about the audit: who changed what. */

export interface AuditEntry {
  who: string;
  door: Door;
  /**
   * Address of the caller; null: this machine. Of one who may only submit, the tables put its user.
   */
  origin: string | null;
  verb: string;
  subject: string;
  /** JSON. */
  detail: string;
}

export interface AuditRow extends Omit<AuditEntry, 'detail'> {
  id: number;
  at: Date;
  /** Null: it was too long. */
  detail: Record<string, unknown> | null;
  /** `done`, or the code of an error; null: the process ended before it knew. */
  outcome: string | null;
  answer: unknown;
}

export const insertAudit = async (db: Queryable, entry: AuditEntry): Promise<number> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'insert-audit',
    text: 'insert into audit (who, door, origin, verb, subject, detail) values ($1, $2, $3, $4, $5, $6) returning id',
    values: [entry.who, entry.door, entry.origin, entry.verb, entry.subject, entry.detail],
  });
  return rows[0]!.id;
};

export const concludeAudit = async (
  db: Queryable,
  id: number,
  { outcome, answer }: { outcome: string; answer: string | null },
): Promise<void> => {
  await db.query({
    name: 'conclude-audit',
    text: 'update audit set outcome = $2, answer = $3 where id = $1',
    values: [id, outcome, answer],
  });
};

/** Returns a page of entries, newest first. */
export const readAudit = async (
  db: Queryable,
  page: { before: number | null; limit: number; who: string | null; subject: string | null },
): Promise<AuditRow[]> => {
  const { rows } = await db.query<AuditRow>({
    name: 'read-audit',
    text: `
select id, at, who, door, origin, verb, subject, detail, outcome, answer
from audit
where ($1::bigint is null or id < $1)
  and ($3::text is null or who = $3)
  and ($4::text is null or subject = $4)
order by id desc
limit $2`,
    values: [page.before, page.limit, page.who, page.subject],
  });
  return rows;
};

/** Deletes the oldest entries that are older than is kept; returns how many. */
export const deleteOldAudit = async (db: Queryable, keptMs: number, limit: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'delete-old-audit',
    text: `
delete from audit
where id in (
  select id
  from audit
  where at < clock() - $1 * interval '1 ms'
  order by id
  limit $2
)`,
    values: [keptMs, limit],
  });
  return rowCount ?? 0;
};
