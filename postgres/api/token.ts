import type { Queryable } from '../pool';

/**
 * Statements about the tokens of the HTTP API. The table has only their hashes, so that reading it
 * gives no access.
 */

export type Scope = 'submit' | 'read' | 'admin';
export const SCOPES: readonly Scope[] = ['submit', 'read', 'admin'];

export interface ApiTokenRow {
  id: number;
  name: string;
  hash: Buffer;
  scopes: Scope[];
  createdAt: Date;
  revokedAt: Date | null;
}

const COLUMNS = 'id, name, hash, scopes, created_at as "createdAt", revoked_at as "revokedAt"';

export const insertToken = async (
  db: Queryable,
  token: { name: string; hash: Buffer; scopes: readonly Scope[] },
): Promise<ApiTokenRow> => {
  const { rows } = await db.query<ApiTokenRow>({
    name: 'insert-api-token',
    text: `insert into api_token (name, hash, scopes, created_at) values ($1, $2, $3, clock()) returning ${COLUMNS}`,
    values: [token.name, token.hash, token.scopes],
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
