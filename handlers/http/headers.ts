import type { Findings } from '../configError';
import { HEADER_NAME, HEADER_VALUE, isTransportHeader } from '../../workflows/planning/transportHeaders';
import type { Env } from '../environment/variable';
import { readVariable } from '../environment/variable';
import { didYouMean } from '../suggest';

/**
 * Headers that are ready to send, and a copy without secrets that may be shown. Names are in lower
 * case.
 */
export interface Headers {
  readonly sent: Readonly<Record<string, string>>;
  readonly shown: Readonly<Record<string, string>>;
  /** The secrets themselves, so that they can be removed from evidence. */
  readonly secrets: readonly string[];
}

/** Names of headers with credentials, whose values may only come from the environment. */
const SECRET =
  /^(proxy-)?authorization$|^cookie$|api-?key|auth-?(token|key)|access-?(token|key)|(subscription|functions|master|admin|license)-key|secret|password|passwd|credential|session|(^|-)token$/i;
/**
 * An encoding would change the meaning of an answer's bytes, which are read as they come. The
 * credentials of a proxy are the operator's to send.
 */
const isReserved = (name: string): boolean =>
  name === 'accept-encoding' || (isTransportHeader(name) && name !== 'proxy-authorization');

/**
 * Checks headers of the form `{name: text | {env, prefix}}`, and reads the secrets. Messages never
 * contain a value, which may be a secret.
 */
export function compileHeaders(raw: unknown, env: Env, at: string, findings: Findings): Headers {
  const sent: Record<string, string> = {};
  const shown: Record<string, string> = {};
  const secrets: string[] = [];
  const given = typeof raw === 'object' && raw !== null && !Array.isArray(raw) ? Object.entries(raw) : [];
  for (const [name, value] of given) {
    const path = `${at}.${name}`;
    const key = name.toLowerCase();
    if (!HEADER_NAME.test(name)) findings.add(path, 'expected a header name of letters, digits and -');
    else if (isReserved(key)) findings.add(path, 'expected no such header: the transport writes it');
    else if (Object.hasOwn(sent, key))
      findings.add(path, 'expected each header once; upper and lower case are the same name');
    else if (typeof value === 'string') {
      const problem = plainProblem(name, value);
      if (problem !== undefined) findings.add(path, problem);
      shown[key] = sent[key] = value;
    } else {
      const secret = readSecret(value, env, path, findings);
      if (secret.value !== '') secrets.push(secret.value);
      sent[key] = secret.prefix + secret.value;
      shown[key] = `${secret.prefix}<${secret.name}>`;
    }
  }
  return { sent, shown, secrets };
}

function plainProblem(name: string, value: string): string | undefined {
  if (SECRET.test(name))
    return 'expected {"env": "NAME"} or {"env": "NAME", "prefix": "Bearer "}, got plain text; secrets come from the environment only';
  if (!HEADER_VALUE.test(value)) return 'expected a header value without line breaks or characters beyond Latin-1';
  if (value.includes('{{')) return 'expected plain text, got {{...}}; headers are not templates';
  return undefined;
}

function readSecret(
  value: unknown,
  env: Env,
  path: string,
  findings: Findings,
): { name: string; prefix: string; value: string } {
  const nothing = { name: '', prefix: '', value: '' };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    findings.add(path, `expected text or {"env": "NAME"}, got a value of type ${typeof value}`);
    return nothing;
  }
  for (const key of Object.keys(value)) {
    if (key !== 'env' && key !== 'prefix')
      findings.add(
        `${path}.${key}`,
        `unknown setting${didYouMean(key, ['env', 'prefix']) || '; known here: env, prefix'}`,
      );
  }
  const { env: name, prefix = '' } = value as { env?: unknown; prefix?: unknown };
  if (typeof prefix !== 'string' || !HEADER_VALUE.test(prefix))
    findings.add(`${path}.prefix`, 'expected text such as "Bearer "');
  if (typeof name !== 'string' || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    findings.add(`${path}.env`, 'expected the name of an environment variable');
    return nothing;
  }
  const { value: found, problem } = readVariable(env, name);
  if (problem !== undefined) findings.add(`${path}.env`, problem);
  else if (found === undefined)
    findings.add(
      `${path}.env`,
      `expected the environment variable ${name} to be set, got ${env[name] === '' ? 'an empty one' : 'none'}`,
    );
  else if (!HEADER_VALUE.test(found))
    findings.add(
      `${path}.env`,
      `expected the environment variable ${name} to hold one line of Latin-1 text, without a line break at its end`,
    );
  return { name, prefix: typeof prefix === 'string' ? prefix : '', value: found ?? '' };
}

/** Removes the secrets from a text, since a downstream may echo what it was sent. */
export const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  secrets.filter((secret) => secret.length >= 4).reduce((clean, secret) => clean.replaceAll(secret, '<secret>'), text);
