import type { Client, Queryable } from '../pool';
import type { BulkRow } from './action';
import { columns, FROM } from './action';

/** Statements about the steps in which bulk actions are worked off. */

/** Which steps a process can make. */
export interface Maker {
  /** The handlers whose payloads it can change, and which version of them it knows. */
  handlers: readonly { name: string; payloadVersion: number }[];
  /** Only those that are hidden from older programs, one of which may have the sweeper's lease. */
  onlyHidden: boolean;
  /** The fields that it knows, of filters and of each action. */
  filter: readonly string[];
  actions: Readonly<Record<string, readonly string[]>>;
}

/**
 * Part of a statement: the process knows all fields. One that has an unknown action has no field
 * that is known.
 */
const KNOWN = `(b.filter - $3::text[] = '{}' and b.action - array(
  select jsonb_array_elements_text($4::jsonb->(b.action->>'do'))) = '{}')`;

/**
 * Returns the one whose next step has been due for longest; null: none is due. One that has fields
 * which the process does not know comes after all others, and first those that do not say so.
 */
export const findDueBulk = async (
  db: Queryable,
  { handlers, onlyHidden, filter, actions }: Maker,
): Promise<BulkRow | null> => {
  const { rows } = await db.query<BulkRow>({
    name: 'find-due-bulk',
    text: `
select ${columns('b.action')}
${FROM}
where b.due_at is not null and coalesce(b.step_at, b.due_at) <= clock() and (b.step_at is not null or not $2::boolean)
  and (not b.action ? 'payloadPatch' or exists (
    select
    from unnest($1::text[], $5::int[]) k (name, version)
    where k.name = h.name and k.version >= coalesce((b.action->>'payloadVersion')::int, 1)))
order by ${KNOWN} desc, not ${KNOWN} and b.error is not null, coalesce(b.step_at, b.due_at) limit 1`,
    values: [
      handlers.map(({ name }) => name),
      onlyHidden,
      filter,
      JSON.stringify(actions),
      handlers.map(({ payloadVersion }) => payloadVersion),
    ],
  });
  return rows[0] ?? null;
};

/** Notes why a process leaves it alone, which others need not. False: that is noted. */
export const noteLeftAlone = async (db: Queryable, id: string, step: number, error: string): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'note-left-alone',
    text: `
update bulk_action set error = $3
where id = $1 and step = $2 and due_at is not null and error is null`,
    values: [id, step, error],
  });
  return rowCount === 1;
};

/**
 * Keeps a step of a hidden action from other processes, which would decide and encode the same. It
 * is due again after so many milliseconds, unless it is made or this is renewed. False: another
 * process has it, or it is made.
 */
export const claimStep = async (db: Queryable, id: string, step: number, ms: number): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'claim-step',
    text: `
update bulk_action set step_at = clock() + $3 * interval '1 ms'
where id = $1 and step = $2 and due_at is not null and step_at <= clock()`,
    values: [id, step, ms],
  });
  return rowCount === 1;
};

/** Keeps a step for longer that this process has claimed. */
export const renewStep = async (db: Queryable, id: string, step: number, ms: number): Promise<void> => {
  await db.query({
    name: 'renew-step',
    text: `
update bulk_action set step_at = clock() + $3 * interval '1 ms'
where id = $1 and step = $2 and due_at is not null and step_at is not null`,
    values: [id, step, ms],
  });
};

/** Says whether the step is still to be made, and locks the action: nothing else makes it. */
export const lockStep = async (client: Client, id: string, step: number): Promise<boolean> => {
  const { rows } = await client.query({
    name: 'lock-step',
    text: 'select from bulk_action where id = $1 and step = $2 and due_at is not null for no key update',
    values: [id, step],
  });
  return rows.length > 0;
};

/** What a step of counting found; `place` null: that was the end, and the work begins. */
export interface Counted {
  total: number;
  place: string | null;
}

/** Notes a step of counting, unless another process has made it or the action has ended. */
export const noteCounted = async (
  db: Queryable,
  id: string,
  step: number,
  { total, place }: Counted,
): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'note-counted',
    text: `
update bulk_action set total = total + $3, place = $4::jsonb, step = step + 1, tries = 0, error = null,
  due_at = case when step_at is null then clock() else 'infinity' end,
  step_at = case when step_at is not null then clock() end, changed_at = clock(),
  state = case when $4::jsonb is null then 1 /* working */ else 0 /* counting */ end,
  worked_from = case when $4::jsonb is null then clock() end
where id = $1 and step = $2 and state = 0 /* counting */`,
    values: [id, step, total, place],
  });
  return rowCount === 1;
};

/** What a step of work came to; `place` null: that was the end. */
export interface Worked {
  done: number;
  skipped: number;
  /** JSON: all failures so far. */
  failures: string;
  place: string | null;
}

/** Notes a step of work, in the transaction that locked it. */
export const noteWorked = async (
  client: Client,
  id: string,
  { done, skipped, failures, place }: Worked,
): Promise<void> => {
  await client.query({
    name: 'note-worked',
    text: `
update bulk_action set n_done = n_done + $2, n_skipped = n_skipped + $3, failures = $4::jsonb, place = $5::jsonb,
  step = step + 1, tries = 0, error = null, changed_at = clock(),
  state = case when $5::jsonb is null then 2 /* done */ else 1 /* working */ end,
  due_at = case when $5::jsonb is null then null when step_at is null then clock() else 'infinity' end,
  step_at = case when step_at is not null then clock() end,
  finished_at = case when $5::jsonb is null then clock() end
where id = $1`,
    values: [id, done, skipped, failures, place],
  });
};

/** Notes why a step was not made: it is tried again after a wait, which doubles up to a minute. */
export const noteFailedStep = async (db: Queryable, id: string, step: number, error: string): Promise<void> => {
  await db.query({
    name: 'note-failed-step',
    text: `
update bulk_action b set tries = b.tries + 1, error = $3,
  due_at = case when b.step_at is null then w.until else 'infinity' end,
  step_at = case when b.step_at is not null then w.until end
from (
  select id, clock() + least(60, power(2, least(tries, 6))) * interval '1 s' as until
  from bulk_action
  where id = $1) w
where b.id = w.id and b.step = $2 and b.due_at is not null`,
    values: [id, step, error],
  });
};
