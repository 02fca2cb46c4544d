/**
 * `type` of problem details (RFC 9457), stable: a name that a program can switch on. Of the
 * callbacks and of the HTTP API.
 */
export const problemType = (name: string): string => `urn:muster:problem:${name}`;
export const PROBLEM_JSON = 'application/problem+json';
