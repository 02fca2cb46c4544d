import type { Queryable } from '../pool';

/** Statements about the HTTP API's answers stored under an Idempotency-Key. */

export interface KeyedRequest {
  /** Id of the caller's token; 0: the API requires none. */
  caller: number;
  /** Operation of the API. */
  route: string;
  key: string;
  /** Sha-256 of the path and the body. */
  request: Buffer;
}
export interface KeptAnswer {
  request: Buffer;
  status: number;
  answer: string;
}

/** Locks the key until this transaction ends; false: another request works under it. */
export const lockKey = async (db: Queryable, { caller, route, key }: KeyedRequest): Promise<boolean> => {
  const { rows } = await db.query<{ held: boolean }>({
    name: 'lock-idempotency-key',
    text: `select pg_try_advisory_xact_lock(hashtextextended($1, 7)) as held`,
    values: [`muster idempotency ${caller} ${route} ${key}`],
  });
  return rows[0]!.held;
};

export const findKeptAnswer = async (
  db: Queryable,
  { caller, route, key }: KeyedRequest,
): Promise<KeptAnswer | null> => {
  const { rows } = await db.query<KeptAnswer>({
    name: 'find-kept-answer',
    text: 'select request, status, answer from idempotency_key where caller = $1 and route = $2 and key = $3',
    values: [caller, route, key],
  });
  return rows[0] ?? null;
};

export const keepAnswer = async (
  db: Queryable,
  { caller, route, key, request }: KeyedRequest,
  { status, answer }: { status: number; answer: string },
): Promise<void> => {
  await db.query({
    name: 'keep-answer',
    text: `insert into idempotency_key (caller, route, key, request, status, answer, created_at) values ($1, $2, $3,
      $4, $5, $6, clock())`,
    values: [caller, route, key, request, status, answer],
  });
};

/** Deletes at most `limit` older answers and returns how many it deleted. */
export const deleteKeptAnswers = async (db: Queryable, olderThanMs: number, limit: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'delete-kept-answers',
    text: `
delete from idempotency_key k using (
  select caller, route, key
  from idempotency_key
  where created_at < clock() - $1::float8 * interval '1 ms'
  order by created_at limit $2) old
where k.caller = old.caller and k.route = old.route and k.key = old.key`,
    values: [olderThanMs, limit],
  });
  return rowCount ?? 0;
};
