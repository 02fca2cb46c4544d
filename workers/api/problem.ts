import type { ProblemDetails } from '../../workflows/contracts/problem';
import type { ErrorCode } from '../../workflows/planning/errorCodes';
import { problemType } from '../problemType';

/**
 * The problems of a request, by name: status and title. A name is part of the API and never changes
 * its meaning.
 */
export const PROBLEMS = {
  invalid: [400, 'The request does not match the documentation'],
  unauthorized: [401, 'The token is missing or invalid'],
  forbidden: [403, 'The token lacks the required scope'],
  'wrong-host': [403, 'The Host is not this machine'],
  'cross-site': [403, 'A web page of another site sent the request'],
  'not-found': [404, 'Not found'],
  'method-not-allowed': [405, 'Method not allowed'],
  conflict: [409, 'Its state does not allow this'],
  'id-conflict': [409, 'The id is used by other content'],
  'too-early': [409, 'The acceptance of the batch is not written yet'],
  'key-in-flight': [409, 'A request with this Idempotency-Key is in progress'],
  'too-large': [413, 'The request is too large'],
  'unsupported-media-type': [415, 'The body is not JSON'],
  refused: [422, 'The content was refused'],
  'too-deep': [422, 'The body is nested too deeply'],
  'key-reused': [422, 'This Idempotency-Key was used for another request'],
  backlogged: [429, 'The backlog is full'],
  quota: [429, 'A quota of the tenant is used up'],
  'caller-limit': [429, 'Too much at once of one caller'],
  'too-many-waiting': [429, 'Too many streams and long polls'],
  internal: [500, 'Internal error'],
  busy: [503, 'Too many requests at once'],
  unavailable: [503, 'Temporarily unavailable'],
  stopping: [503, 'This process is stopping'],
} as const satisfies Record<string, readonly [number, string]>;
export type ProblemName = keyof typeof PROBLEMS;

/** Seconds after which another try is sensible. */
export const AGAIN_S = 1;

export interface ProblemExtras {
  /** Code of the client library's error; default: the name in capitals. */
  code?: ErrorCode;
  errors?: ProblemDetails['errors'];
  /** Seconds; from 1. */
  retryAfterS?: number;
  /** Further members. */
  more?: Readonly<Record<string, unknown>>;
}

/** Thrown where a request is refused. */
export class ApiProblem extends Error {
  readonly status: number;

  constructor(
    readonly problem: ProblemName,
    readonly detail: string,
    readonly extras: ProblemExtras = {},
  ) {
    super(detail);
    this.name = 'ApiProblem';
    this.status = PROBLEMS[problem][0];
  }

  body(): ProblemDetails {
    const { code = this.problem.toUpperCase().replaceAll('-', '_'), errors, retryAfterS, more } = this.extras;
    const [status, title] = PROBLEMS[this.problem];
    return {
      type: problemType(this.problem),
      title,
      status,
      detail: this.detail,
      code,
      ...(errors === undefined ? {} : { errors }),
      ...(retryAfterS === undefined ? {} : { retryAfterS }),
      ...more,
    };
  }
}
