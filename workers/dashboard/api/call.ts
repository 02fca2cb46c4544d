import { climbs } from '../../../workflows/planning/urlPath';

/** Calls of the API, with the session of this browser. */

/** An answer that is not as wanted; `status` 0: there was none. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly detail: string,
  ) {
    super(detail);
  }
}

/** Says whether a refusal will be the same when it is asked again soon. */
export const isFinal = ({ status }: Refusal): boolean => status >= 400 && status < 500 && status !== 429;

/** What makes a request ours; it is a session's only with it. */
const HEADERS = { 'x-muster-page': '1' } as const;
const LONGEST_MS = 30_000;
const NO_SUCH_ADDRESS = 'No address can have a name “.” or “..” in it: use the command line for this.';

const send = async (path: string, init: RequestInit, mostMs: number): Promise<unknown> => {
  // The browser would ask for another path.
  if (climbs(path)) throw new Refusal(400, NO_SUCH_ADDRESS);
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, cache: 'no-store', signal: AbortSignal.timeout(mostMs) });
  } catch {
    throw new Refusal(0, 'The API does not answer.');
  }
  const body = (await answer.json().catch(() => ({}))) as { detail?: string; title?: string };
  if (!answer.ok) throw new Refusal(answer.status, body.detail ?? body.title ?? `Status ${answer.status}.`);
  return body;
};

export const read = <T>(path: string): Promise<T> => send(path, { headers: HEADERS }, LONGEST_MS) as Promise<T>;

export const change = <T = Record<string, unknown>>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body: object = {},
  headers: Readonly<Record<string, string>> = {},
  mostMs = LONGEST_MS,
): Promise<T> => {
  const all = { ...HEADERS, 'content-type': 'application/json', ...headers };
  return send(path, { method, headers: all, body: JSON.stringify(body) }, mostMs) as Promise<T>;
};
