import type { IncomingHttpHeaders } from 'node:http';

/**
 * The session of a browser: a cookie that no script reads and no other site sends. It holds the
 * token, so that it may do what that may, in every process of the API, and ends with it.
 */

/** Every request of our page has it: a page of another site cannot send it without being asked. */
const PAGE_HEADER = 'x-muster-page';
/** Browsers take `__Host-` only from the host itself, over TLS: no neighbour can set one for us. */
const NAMES = { https: '__Host-muster', http: 'muster' } as const;
/** A browser forgets it after this; 12 h. */
const MAX_AGE_S = 43_200;

/** As they are made: nothing in it has a meaning in a cookie. */
const TOKEN = /^[\w-]{1,500}$/;
type Headers = Readonly<IncomingHttpHeaders>;

/** Says whether a request came from our page. */
export const isOfPage = (headers: Headers): boolean => headers[PAGE_HEADER] === '1';

/** Returns the token of a session; null: there is none, or the request is not of our page. */
export const tokenInCookie = (headers: Headers): string | null => {
  if (!isOfPage(headers)) return null;
  const cookies = (headers.cookie ?? '').split(/; */).map((one) => one.split('='));
  const of = (name: string): string | undefined => cookies.find(([found]) => found === name)?.[1];
  const value = of(NAMES.https) ?? of(NAMES.http) ?? '';
  return TOKEN.test(value) ? value : null;
};

const setting = (headers: Headers, value: string, maxAgeS: number): { 'set-cookie': string } => {
  // The browser says by which scheme its page was loaded: a proxy in front may do the TLS.
  const isSecure = headers.origin?.startsWith('https:') === true;
  const name = isSecure ? NAMES.https : NAMES.http;
  const attributes = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeS}${isSecure ? '; Secure' : ''}`;
  return { 'set-cookie': `${name}=${value}; ${attributes}` };
};

/** Returns the header that begins a session with the token of this request; none: it has none. */
export const beginSession = (headers: Headers): Record<string, string> => {
  const token = (headers.authorization ?? '').replace(/^Bearer +/i, '');
  return TOKEN.test(token) && isOfPage(headers) ? setting(headers, token, MAX_AGE_S) : {};
};
export const endSession = (headers: Headers): Record<string, string> => setting(headers, '', 0);
