import { refuseOtherSites } from '../../../workers/api/callers/sites';
import { ApiProblem } from '../../../workers/api/problem';

/** What a browser on this machine may send where no token is required, by its headers. */

type Headers = Readonly<Record<string, string>>;

/** Returns the name of the problem; null: it is let through. */
const refusal = (method: string, headers: Headers): string | null => {
  try {
    refuseOtherSites({ method, headers: { host: '127.0.0.1:8080', ...headers } });
    return null;
  } catch (error) {
    if (error instanceof ApiProblem) return error.problem;
    throw error;
  }
};

const OWN: Headers = { origin: 'http://127.0.0.1:8080', 'sec-fetch-site': 'same-origin' };
const json = (headers: Headers = {}): Headers => ({ 'content-type': 'application/json', ...headers });

test.each<[string, Headers, string | null]>([
  ['a program, or an address that was typed', {}, null],
  ['a page of this host', OWN, null],
  ['a page of another port of this machine, which may not read it', { 'sec-fetch-site': 'same-site' }, null],
  ['a page of another site', { 'sec-fetch-site': 'cross-site' }, 'cross-site'],
  ['a page that names another origin', { origin: 'http://evil.example.com' }, 'cross-site'],
  ['a page that names no origin', { origin: 'null' }, 'cross-site'],
])('what only reads needs no content type; from %s', (_from, headers, expected) => {
  expect([refusal('GET', headers), refusal('HEAD', headers)]).toEqual([expected, expected]);
});

test.each<[string, Headers, string | null]>([
  ['a program', json(), null],
  ['a program that names the charset', { 'content-type': 'application/json; charset=utf-8' }, null],
  ['a page of this host', json(OWN), null],
  ['an address that was typed', json({ 'sec-fetch-site': 'none' }), null],
  ['a page of another port of this machine', json({ 'sec-fetch-site': 'same-site' }), 'cross-site'],
  ['a page of another site', json({ 'sec-fetch-site': 'cross-site' }), 'cross-site'],
  ['a page that names another origin', json({ origin: 'http://evil.example.com' }), 'cross-site'],
  ['a form', {}, 'unsupported-media-type'],
  ['a form of this host', OWN, 'unsupported-media-type'],
  ['a form whose type begins as JSON', { 'content-type': 'application/jsonp' }, 'unsupported-media-type'],
])('what may change something is JSON, and of this host; from %s', (_from, headers, expected) => {
  const methods = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
  expect(methods.map((method) => refusal(method, headers))).toEqual(methods.map(() => expected));
});
