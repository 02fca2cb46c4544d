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

const send = async (path: string, init: RequestInit): Promise<unknown> => {
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, cache: 'no-store', signal: AbortSignal.timeout(LONGEST_MS) });
  } catch {
    throw new Refusal(0, 'The API does not answer.');
  }
  const body = (await answer.json().catch(() => ({}))) as { detail?: string; title?: string };
  if (!answer.ok) throw new Refusal(answer.status, body.detail ?? body.title ?? `Status ${answer.status}.`);
  return body;
};

export const read = <T>(path: string): Promise<T> => send(path, { headers: HEADERS }) as Promise<T>;

export const change = <T = Record<string, unknown>>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<T> =>
  send(path, {
    method,
    headers: { ...HEADERS, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  }) as Promise<T>;
