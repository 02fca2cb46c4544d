import { HaltError, LaterError, neverSent, RejectedError } from '../../handlers';

/**
 * May come after the work was done: a timeout, or a key or version that an earlier attempt holds.
 */
const UNKNOWN = new Set([408, 409, 499]);

/**
 * `fetch` for a handler's submit: answers a 2xx, and throws what Muster understands otherwise
 * (docs/handlers/http-json.md has the table). Anything it cannot classify stays the plain error it
 * is, which Muster reads as an unknown outcome.
 * @throws RejectedError 400, 413, 422 · LaterError 425, 429, 503, connection refused · HaltError
 * redirects and every other 4xx
 */
export async function call(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, { redirect: 'manual', ...init }).catch((error: unknown) => {
    throw neverSent(error) ? new LaterError(`${url}: ${String((error as Error).cause)}`) : error;
  });
  if (response.ok) {
    return response;
  }
  const said = `${init.method ?? 'GET'} ${url} answered ${response.status}: ${(await response.text()).slice(0, 500)}`;
  const { status } = response;
  if ([400, 413, 422].includes(status)) {
    throw new RejectedError(said);
  }
  if ([425, 429, 503].includes(status)) {
    throw new LaterError(said, { retryAfterMs: retryAfterMs(response.headers.get('retry-after'), Date.now()) });
  }
  if (status < 500 && !UNKNOWN.has(status)) {
    throw new HaltError(said);
  }
  throw new Error(said);
}

/**
 * Retry-After is a number of seconds or an HTTP date; milliseconds from `now`, undefined where it
 * is neither.
 */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null || header.trim() === '') {
    return undefined;
  }
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/**
 * Whether `fetch` failed on the way, by name: errors of node itself are no instances of this
 * realm's classes under jest.
 */
export function isFetchFailure(error: unknown): boolean {
  return (error as Error | null)?.name === 'TypeError' && (error as Error).message === 'fetch failed';
}
