import type { Queryable } from '../pool';

/**
 * Statements about the tokens of the HTTP API. The table has only their hashes, so that reading it
 * gives no access.
 */

export type Scope = 'submit' | 'read' | 'complete' | 'operate' | 'metrics' | 'admin';
export const SCOPES: readonly Scope[] = ['submit', 'read', 'complete', 'operate', 'metrics', 'admin'];

export interface ApiTokenRow {
  id: number;
  name: string;
  hash: Buffer;
  scopes: Scope[];
  /** Null: it is of no tenant, and sees all of them. */
  tenant: string | null;
  /** Names of handlers, or their beginnings with a `*`; null: all. */
  handlers: string[] | null;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  /** Accurate to a minute. */
  usedAt: Date | null;
  /** Id of the first token of those that replaced each other. */
  replaces: number | null;
  /** Neither revoked nor expired, by the database's clock. */
  isValid: boolean;
}

export interface NewToken {
  name: string;
  hash: Buffer;
  scopes: readonly Scope[];
  tenant?: string | null;
  handlers?: readonly string[] | null;
  /** Milliseconds from now; null or left out: it does not expire. */
  expiresInMs?: number | null;
}

const COLUMNS = `id, name, hash, scopes, tenant, handlers, created_at as "createdAt", expires_at as "expiresAt",
  revoked_at as "revokedAt", used_at as "usedAt", replaces,
  revoked_at is null and (expires_at is null or expires_at > clock()) as "isValid"`;

export const insertToken = async (db: Queryable, token: NewToken): Promise<ApiTokenRow> => {
  const { rows } = await db.query<ApiTokenRow>({
    name: 'insert-api-token',
    text: `
insert into api_token (name, hash, scopes, tenant, handlers, expires_at, created_at)
values ($1, $2, $3, $4, $5, clock() + $6::float8 * interval '1 ms', clock())
returning ${COLUMNS}`,
    values: [
      token.name,
      token.hash,
      token.scopes,
      token.tenant ?? null,
      token.handlers ?? null,
      token.expiresInMs ?? null,
    ],
  });
  return rows[0]!;
};

/** Returns all tokens, also revoked ones, in the order in which they were made. */
export const readTokens = async (db: Queryable): Promise<ApiTokenRow[]> => {
  const { rows } = await db.query<ApiTokenRow>({
    name: 'read-api-tokens',
    text: `select ${COLUMNS} from api_token order by id`,
  });
  return rows;
};

/**
 * Revokes a token and returns it; null: there is none with this id. Revoking it again keeps the
 * first time.
 */
export const revokeToken = async (db: Queryable, id: number): Promise<ApiTokenRow | null> => {
  const { rows } = await db.query<ApiTokenRow>({
    name: 'revoke-api-token',
    text: `update api_token set revoked_at = coalesce(revoked_at, clock()) where id = $1 returning ${COLUMNS}`,
    values: [id],
  });
  return rows[0] ?? null;
};

/** Locks a token until the transaction ends: of two that replace it the second sees the first's. */
export const lockToken = async (db: Queryable, id: number): Promise<void> => {
  await db.query({
    name: 'lock-api-token',
    text: 'select from api_token where id = $1 for update',
    values: [id],
  });
};

/**
 * Inserts a token with the name, scopes and limits of another valid one, which ends after
 * `overlapMs`. The new one lives as long as the first of them was meant to, from now: as the newest
 * of those that replaced it says, whose own end no rotation has moved. Null: there is no valid
 * token with this id, or one has replaced it. In a transaction that locked it (`lockToken`).
 */
export const replaceToken = async (
  db: Queryable,
  id: number,
  { hash, overlapMs }: { hash: Buffer; overlapMs: number },
): Promise<ApiTokenRow | null> => {
  const { rows } = await db.query<ApiTokenRow>({
    name: 'replace-api-token',
    text: `
with old as (
  select *
  from api_token o
  where id = $1 and revoked_at is null and (expires_at is null or expires_at > clock())
    and not exists (
      select
      from api_token n
      where n.replaces = coalesce(o.replaces, o.id) and n.id > o.id and n.revoked_at is null
    )
), newest as (
  select n.expires_at - n.created_at as lifetime
  from api_token n join old on coalesce(n.replaces, n.id) = coalesce(old.replaces, old.id)
  order by n.id desc
  limit 1
), ends as (
  update api_token t
  set expires_at = least(t.expires_at, clock() + $3 * interval '1 ms')
  from old
  where t.id = old.id
)
insert into api_token (name, hash, scopes, tenant, handlers, expires_at, created_at, replaces)
select name, $2, scopes, tenant, handlers, clock() + lifetime, clock(), coalesce(replaces, id)
from old cross join newest
returning ${COLUMNS}`,
    values: [id, hash, overlapMs],
  });
  return rows[0] ?? null;
};

/** Notes that these tokens were used; at most once per minute and token. */
export const touchTokens = async (db: Queryable, ids: readonly number[]): Promise<void> => {
  await db.query({
    name: 'touch-api-tokens',
    text: `
update api_token
set used_at = clock()
where id = any($1::int[]) and (used_at is null or used_at < clock() - interval '1 minute')`,
    values: [ids],
  });
};
