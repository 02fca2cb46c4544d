import { NO_QUOTAS, upsertTenant } from '../../../postgres/api/tenant';
import type { NewToken, Scope } from '../../../postgres/api/token';
import { insertToken, SCOPES } from '../../../postgres/api/token';
import { hashToken, newToken } from '../../../workers/api/tokens';
import type { ApiWorld } from '../../api/world';

/** One kind of caller: what its token may, and how it is made. */
export interface Kind {
  name: string;
  /** Empty: it is refused everywhere but where no token is needed. */
  scopes: readonly Scope[];
  /** Of things of others it is told that there are none. */
  isLimited?: boolean;
  /** Null: it sends no token. */
  token: Partial<NewToken> | null;
}

const TENANT = 'acme';

/** Everything a token can be. The first may everything, and is compared with the document alone. */
export const KINDS: readonly Kind[] = [
  { name: 'admin', scopes: SCOPES, token: { scopes: ['admin'] } },
  ...SCOPES.filter((scope) => scope !== 'admin').map((scope) => ({
    name: `${scope} alone`,
    scopes: [scope],
    token: { scopes: [scope] },
  })),
  { name: 'of a tenant', scopes: SCOPES, isLimited: true, token: { scopes: SCOPES, tenant: TENANT } },
  { name: 'of some handlers', scopes: SCOPES, isLimited: true, token: { scopes: SCOPES, handlers: ['nar*'] } },
  { name: 'expired', scopes: [], token: { scopes: SCOPES, expiresInMs: 1 } },
  { name: 'none', scopes: [], token: null },
];

/** Makes a token of each kind, and returns the text of each. */
export const makeTokens = async ({ database }: ApiWorld): Promise<Map<Kind, string | null>> => {
  await upsertTenant(database.pool, TENANT, NO_QUOTAS);
  const made = new Map<Kind, string | null>();
  for (const kind of KINDS) {
    const text = newToken();
    if (kind.token !== null)
      await insertToken(database.pool, { name: kind.name, hash: hashToken(text), scopes: [], ...kind.token });
    made.set(kind, kind.token === null ? null : text);
  }
  return made;
};
