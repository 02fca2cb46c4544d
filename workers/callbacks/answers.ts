import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CompletionEnd } from '../../activities/accepted/complete';
import { PROBLEM_JSON, problemType } from '../problemType';

/** The answer of a callback: JSON, or problem details (RFC 9457). */
export interface Answer {
  status: number;
  body: object;
  headers: Record<string, string>;
}

const TITLES: Readonly<Record<string, string>> = {
  'not-found': 'Not found',
  'method-not-allowed': 'Method not allowed',
  unauthorized: 'Wrong token',
  unreadable: 'Unreadable completion',
  'too-early': 'The acceptance of the batch is not written yet',
  stale: 'The batch has ended, or the downstream does not have it',
  'too-large': 'Body too large',
  unavailable: 'Not now',
};

/**
 * Returns problem details. `type` is `urn:muster:problem:<name>`, stable; `more` are its extension
 * members, such as `field`.
 */
export const problem = (
  status: number,
  name: string,
  detail: string,
  more: object = {},
  headers: Record<string, string> = {},
): Answer => ({
  status,
  body: { type: problemType(name), title: TITLES[name], status, detail, ...more },
  headers: { 'content-type': PROBLEM_JSON, ...headers },
});

export const answerOf = (end: CompletionEnd, batch: number): Answer => {
  switch (end.kind) {
    case 'completed': {
      const { reference, state, results, repeated } = end;
      return {
        status: 200,
        body: { batch, reference, state, results, repeated },
        headers: { 'content-type': 'application/json' },
      };
    }
    case 'later':
      return problem(
        409,
        'too-early',
        `${sentence(end.error)} Send it again.`,
        { batch, retryAfterMs: end.retryAfterMs },
        { 'retry-after': String(Math.ceil(end.retryAfterMs / 1_000)) },
      );
    case 'stale':
      return problem(409, 'stale', `${sentence(end.error)} Nothing was changed.`, { batch, state: end.state });
    case 'unreadable':
      return problem(400, 'unreadable', `${end.field}: ${end.message}. Nothing was settled.`, { field: end.field });
    case 'unknown-batch':
    case 'several': // not by number
      return problem(404, 'not-found', `Batch ${batch} does not exist, or was deleted after its retention period.`, {
        batch,
      });
  }
};

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** How long an unwanted body may keep arriving, so that its sender can read the answer. */
const DRAIN_MS = 2_000;

export const send = (
  request: IncomingMessage,
  response: ServerResponse,
  { status, body, headers }: Answer,
  stopping: boolean,
): void => {
  const text = JSON.stringify(body);
  const isUnread = !request.complete;
  response.writeHead(status, {
    ...headers,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...(stopping ? { connection: 'close' } : {}),
  });
  response.end(text);
  if (!isUnread) return;
  request.resume();
  const timer = setTimeout(() => request.destroy(), DRAIN_MS);
  request.once('close', () => clearTimeout(timer));
};
