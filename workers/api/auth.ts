import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Scope } from '../../postgres/api/token';
import { SCOPES } from '../../postgres/api/token';
import { isLoopback, nameInHost } from '../doors/hosts';
import { refuseOtherSites } from './callers/sites';
import { tokenInCookie } from './dashboard/cookie';
import { ApiProblem } from './problem';
import { UNLIMITED } from './tenants/bounds';
import type { Caller, TokenBook } from './tokens';
import { may } from './tokens';

/**
 * Decides which caller may call what. An API that was started as open requires no token until one
 * was made, and then serves only this machine, and no pages of other sites.
 */

/** A caller on this machine, where there are no tokens. */
const LOCAL: Caller = { id: 0, tokenId: 0, name: null, scopes: new Set(SCOPES), limits: UNLIMITED };

/** A caller without a token, who may see what is shown to all. */
const READER: Caller = { id: 0, tokenId: 0, name: null, scopes: new Set(['read']), limits: UNLIMITED };

export interface Guard {
  book: TokenBook;
  /** It was asked for, and it listens on a loopback address. */
  open: boolean;
}

/** Says whether a caller who was admitted still is. */
export const isAdmitted = ({ book, open }: Guard, id: Caller['tokenId']): Promise<boolean> =>
  id === LOCAL.id ? book.isEmpty().then((isEmpty) => open && isEmpty) : book.has(id);

/**
 * Authenticates a request. `basic`: a browser may give the token as the password of a Basic login
 * (pages only: it cannot send Bearer by itself). `isShown`: answered to all until a token was made.
 * A session of our page has a cookie in place of the header, and may do what its token may: other
 * sites' pages, which could make a browser send it, are refused.
 */
export const authenticate = async (
  { book, open }: Guard,
  request: FastifyRequest,
  reply: FastifyReply,
  { basic, isShown }: { basic: boolean; isShown: boolean },
): Promise<Caller> => {
  const header = request.headers.authorization;
  const cookie = header === undefined ? tokenInCookie(request.headers) : null;
  if (cookie !== null) refuseOtherSites(request);
  const token = cookie ?? tokenIn(header, basic);
  if (open && (await book.isEmpty())) {
    refuseOtherHosts(request);
    refuseOtherSites(request);
    return LOCAL;
  }
  if (isShown && (await book.isEmpty())) return READER;
  const caller = token === null ? null : await book.find(token);
  if (caller !== null) return caller;
  void reply.header(
    'www-authenticate',
    basic ? 'Basic realm="muster, any name and a token as the password"' : 'Bearer realm="muster"',
  );
  throw new ApiProblem(
    'unauthorized',
    token === null
      ? 'Expected `Authorization: Bearer <token>`, got none. Create a token with `muster token create`.'
      : 'The token is invalid, has expired or was revoked.',
  );
};

export const authorize = (caller: Caller, scope: Scope): void => {
  if (!may(caller, scope))
    throw new ApiProblem(
      'forbidden',
      `Expected a token with scope ${scope} (or admin), got scope ${[...caller.scopes].join(', ')}.`,
    );
};

const TOKEN = /^Bearer +([\x21-\x7e]{1,500})$/i;
const BASIC = /^Basic +([A-Za-z0-9+/=]{1,1000})$/i;

const tokenIn = (header: string | undefined, basic: boolean): string | null => {
  const bearer = TOKEN.exec(header ?? '')?.[1];
  if (bearer !== undefined) return bearer;
  const encoded = basic ? BASIC.exec(header ?? '')?.[1] : undefined;
  if (encoded === undefined) return null;
  const login = Buffer.from(encoded, 'base64').toString('latin1');
  return login.slice(login.indexOf(':') + 1);
};

/**
 * Refuses requests for other hosts: a page of some web site whose name resolves to 127.0.0.1 is not
 * this machine's user.
 */
const refuseOtherHosts = ({ host }: FastifyRequest): void => {
  const name = nameInHost(host);
  if (!isLoopback(name))
    throw new ApiProblem(
      'wrong-host',
      `Expected a Host of this machine (localhost, 127.0.0.1), got ${JSON.stringify(name)}: until a token exists, only this machine may call.`,
    );
};
