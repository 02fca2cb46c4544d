/**
 * Returns the `type` of problem details (RFC 9457), stable: a name that a program can switch on.
 * For the callbacks and the HTTP API.
 */
export const problemType = (name: string): string => `urn:muster:problem:${name}`;
export const PROBLEM_JSON = 'application/problem+json';
