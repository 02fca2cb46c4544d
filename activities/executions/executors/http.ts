import type { LookupFunction } from 'node:net';
import { Agent, Pool, request } from 'undici';
import { allowedAddresses, resolveHost } from '../../callbacks/addresses';
import type { Resolve } from '../../callbacks/addresses';
import { isAllowedUrl } from '../../callbacks/allowed';
import { describeThrown } from '../../../handlers/text';
import type { ItemMetadata } from '../../../workflows/planning/executions/usage';
import { HEADER_NAME, HEADER_VALUE, isTransportHeader } from '../../../workflows/planning/transportHeaders';
import type { Executor, MakeExecutor, RunOutcome } from './types';
import { nodeFailure } from './types';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * Calls one URL per item: the function is `http`, its method the verb, the first argument the URL,
 * the second the body, the others headers (`name: value`). Standard output is the body of the
 * answer; exit code 0 for 2xx, otherwise the status with it on stderr. Only hosts that the operator
 * allows; redirects are not followed, and headers of the transport are refused. Each call carries
 * the item's idempotency key, the same at every attempt.
 */
export const httpExecutor = (
  allow: readonly string[],
  { method, limits }: MakeExecutor,
  resolve: Resolve = resolveHost,
): Executor => {
  const verb = method.toUpperCase();
  // Only the item's signal limits the time: undici's defaults end every call after five minutes.
  // A pool per origin: a lookup is not told the port, by which an address may be allowed.
  const agent = new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    factory: (origin, options) =>
      new Pool(origin, { ...options, connect: { lookup: lookupAllowed(allow, new URL(origin), resolve) } }),
  });
  return {
    runsCode: false,
    run: async (args, { position, executionId, signal }) => {
      if (!METHODS.includes(verb)) return nodeFailure(`method: expected one of ${METHODS.join(', ')}, got ${method}`);
      const [target, body, ...rest] = args;
      const url = target !== undefined && URL.canParse(target) ? new URL(target) : null;
      if (url === null || !['http:', 'https:'].includes(url.protocol))
        return nodeFailure(`arguments[0]: expected an http or https URL, got ${target ?? 'nothing'}`);
      if (url.username !== '' || url.password !== '')
        return nodeFailure('arguments[0]: expected a URL without user and password, got one with them');
      if (!isAllowedUrl(allow, url, 'http and https'))
        return nodeFailure(
          `the host ${url.host} is not allowed here: executions.httpAllow in the config of this node allows ${allow.join(', ')}`,
        );
      const headers = headersOf(rest);
      if (typeof headers === 'string') return nodeFailure(headers);
      try {
        const answer = await request(url, {
          method: verb as 'GET',
          body: body ?? null,
          headers: { ...headers, 'idempotency-key': `${executionId}/${position}` },
          signal,
          dispatcher: agent,
        });
        const outcome = await outcomeOf(answer.statusCode, answer.body, limits.stdoutBytes);
        return { ...outcome, metadata: metadataOf(answer.statusCode, answer.headers['content-type']) };
      } catch (error) {
        return { exitCode: 1, stdout: '', stderr: describeThrown(error) };
      }
    },
    close: () => agent.destroy(),
  };
};

/** Returns the headers, or what is wrong with one of them: nothing is sent then. */
const headersOf = (lines: readonly string[]): Record<string, string> | string => {
  const headers = new Map<string, string>();
  for (const [index, line] of lines.entries()) {
    const refuse = (expected: string): string =>
      `arguments[${index + 2}]: expected ${expected}, got ${JSON.stringify(line.slice(0, 100))}`;
    const at = line.indexOf(':');
    const name = line.slice(0, Math.max(at, 0)).trim().toLowerCase();
    const value = line.slice(at + 1).trim();
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value))
      return refuse('a header of the form "name: value" on one line');
    if (isTransportHeader(name)) return refuse('no header that the transport writes');
    headers.set(name, value);
  }
  return Object.fromEntries(headers);
};

const CONTENT_TYPE_MAX = 256;
const metadataOf = (status: number, contentType: string | string[] | undefined): ItemMetadata => ({
  status: String(status),
  ...(typeof contentType === 'string' ? { contentType: contentType.slice(0, CONTENT_TYPE_MAX) } : {}),
});

const outcomeOf = async (status: number, body: AsyncIterable<Buffer>, limit: number): Promise<RunOutcome> => {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    // Read to its end, kept up to the limit: so the connection can be used again.
    if (bytes <= limit) parts.push(part);
    bytes += part.length;
  }
  const stdout = Buffer.concat(parts).toString();
  const isGood = status >= 200 && status < 300;
  return { exitCode: isGood ? 0 : status, stdout, stderr: isGood ? '' : `HTTP ${status}`, stdoutBytes: bytes };
};

/**
 * Checks the address when connecting, so that an allowed name never leads to a forbidden internal
 * address.
 */
const lookupAllowed =
  (allow: readonly string[], url: URL, resolve: Resolve): LookupFunction =>
  (host, options, answer) => {
    resolve(host).then(
      (found) => {
        const addresses = allowedAddresses(allow, url, found);
        if (addresses.length === 0) answer(new Error(`${url.host} resolves to no address that is allowed here`), '');
        else if (options.all === true) answer(null, addresses);
        else answer(null, addresses[0]!.address, addresses[0]!.family);
      },
      (error: Error) => answer(error, ''),
    );
  };
