import { isOriginOf } from '../../doors/hosts';
import { ApiProblem } from '../problem';

/**
 * Where no token is required, or a browser has a session, any web page could make that browser
 * call. A page of another site is recognised by what browsers send with each request.
 */

export interface Browsed {
  method: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const OWN_SITE: ReadonlySet<string> = new Set(['same-origin', 'none']);

/**
 * Refuses requests of other sites' pages. A change must moreover be one that a form cannot send:
 * its content type is JSON, also without a body. @throws ApiProblem
 */
export const refuseOtherSites = ({ method, headers }: Browsed): void => {
  const site = textOf(headers['sec-fetch-site']);
  const origin = textOf(headers.origin);
  // A WebSocket tells nothing else of its page, and asks for a path by GET.
  if (origin !== null && !isOriginOf(origin, textOf(headers.host)))
    throw otherSite('Origin: expected this host', origin);
  if (READS.has(method)) {
    if (site === 'cross-site') throw otherSite('Sec-Fetch-Site: expected same-origin, same-site or none', site);
    return;
  }
  if (site !== null && !OWN_SITE.has(site)) throw otherSite('Sec-Fetch-Site: expected same-origin or none', site);
  if (!/^application\/json\s*(;|$)/i.test(textOf(headers['content-type']) ?? ''))
    throw new ApiProblem(
      'unsupported-media-type',
      'Content-Type: expected application/json, also without a body, where no header has a token. ' +
        'Nothing was done.',
    );
};

/** Where the pages of the API's document are. */
export const PAGES = '/docs';

/**
 * Says whether a browser may give the token as the password of a Basic login, and is asked for it:
 * at the pages, and not for what a page of another site embeds, or that page could make the browser
 * show the dialog.
 */
export const mayLogIn = ({ method, url, headers }: Browsed & { url: string }): boolean => {
  const [path = ''] = url.split('?', 1);
  if (method !== 'GET' || (path !== PAGES && !path.startsWith(`${PAGES}/`))) return false;
  const site = textOf(headers['sec-fetch-site']);
  return site === null || OWN_SITE.has(site) || textOf(headers['sec-fetch-dest']) === 'document';
};

const textOf = (header: string | string[] | undefined): string | null => (header === undefined ? null : String(header));

const otherSite = (expected: string, got: string): ApiProblem =>
  new ApiProblem(
    'cross-site',
    `${expected}, got ${JSON.stringify(got)}: pages of other sites may not call without a token. Nothing was done.`,
  );
