import type { Queryable } from '../pool';

/**
 * What a settlement writes besides the end of a batch: pages of results, and notifications for
 * recipients that asked for them.
 */

/** Most members and bytes of a page. */
export const PAGE_MEMBERS = 1_000;
export const PAGE_BYTES = 1_000_000;

export interface ResultPage {
  batch_id: number;
  attempt: number;
  no: number;
  /** Lowest and highest place in the batch. */
  first: number;
  last: number;
  /**
   * JSON text: place and value of each member that has one, and which part of the value could not
   * be kept, if any.
   */
  results: string;
}

/**
 * Returns pages as the `$2` of `WRITTEN_DOWN`. Their values are JSON already, so they are not
 * parsed and serialized again.
 */
export const pagesJson = (pages: readonly ResultPage[]): string =>
  `[${pages.map(({ results, ...page }) => `${JSON.stringify(page).slice(0, -1)},"results":${results}}`).join()}]`;

export interface NewNotification {
  batch_id: number | null;
  attempt: number | null;
  recipient_id: number;
  body: unknown;
}

/**
 * Writes the results ($2) and notifications ($3) of the batches that `done` names: the parts of a
 * statement that settles many.
 */
export const WRITTEN_DOWN = `
paged as (
  insert into result_page (batch_id, attempt, no, first, last, results)
  select p.batch_id, p.attempt, p.no, p.first, p.last, p.results
  from json_to_recordset($2) p (batch_id bigint, attempt int, no int, first int, last int, results json)
    join done d on d.id = p.batch_id and d.attempt = p.attempt
  on conflict do nothing),
  noted as (
    insert into notification (batch_id, attempt, recipient_id, body, next_at)
    select n.batch_id, n.attempt, n.recipient_id, n.body, clock()
    from json_to_recordset($3) n (batch_id bigint, attempt int, recipient_id int, body jsonb)
      join done d on d.id = n.batch_id and d.attempt = n.attempt)`;

/**
 * Writes one page of a large answer while it is being read; only the pages of the settled attempt
 * are ever shown.
 */
export const insertResultPage = async (db: Queryable, page: ResultPage): Promise<void> => {
  await db.query({
    name: 'insert-result-page',
    text: `
insert into result_page (batch_id, attempt, no, first, last, results) values ($1, $2, $3, $4, $5, $6)
on conflict (batch_id, attempt, no) do update
  set first = excluded.first, last = excluded.last, results = excluded.results`,
    values: [page.batch_id, page.attempt, page.no, page.first, page.last, page.results],
  });
};

export const insertNotifications = async (db: Queryable, notifications: readonly NewNotification[]): Promise<void> => {
  await db.query({
    name: 'insert-notifications',
    text: `
insert into notification (batch_id, attempt, recipient_id, body, next_at)
select batch_id, attempt, recipient_id, body, clock()
from json_to_recordset($1) n (batch_id bigint, attempt int, recipient_id int, body jsonb)`,
    values: [JSON.stringify(notifications)],
  });
};
