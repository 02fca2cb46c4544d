import { isTransportHeader } from '../../workflows/planning/transportHeaders';
import type { Findings } from '../configError';
import type { Env } from '../environment/variable';
import type { BodyPlan } from './encode';
import { compileBody } from './encode';
import type { Headers } from './headers';
import { compileHeaders } from './headers';
import { member } from './path';
import type { UrlTemplate } from './urlTemplate';
import { compileUrl } from './urlTemplate';

/** The compiled settings by which a batch becomes a request. */
export interface RequestPlan {
  readonly method: string;
  readonly url: UrlTemplate;
  readonly headers: Headers;
  /** The header that carries the idempotency key; undefined: none is sent. */
  readonly keyHeader?: string;
  /** The header that carries the callback URL; undefined: none is sent. */
  readonly callbackHeader?: string;
  readonly body: BodyPlan;
}

export function compileRequest(config: unknown, env: Env, findings: Findings): RequestPlan {
  const raw = member(config, 'request');
  const isLines = member(raw, 'encode') === 'ndjson';
  const headers = compileHeaders(member(raw, 'headers'), env, 'request.headers', findings);
  const defaults = {
    accept: 'application/json',
    'user-agent': 'muster',
    'content-type': isLines ? 'application/x-ndjson' : 'application/json',
  };
  const body = compileBody(
    {
      item: member(raw, 'item'),
      envelope: member(raw, 'envelope'),
      encode: member(raw, 'encode'),
    },
    findings,
  );
  if (member(member(config, 'idempotency'), 'by') === 'task' && !body.references.some(({ root }) => root === 'id')) {
    findings.add(
      'request.item',
      "expected {{id}} in it, got none: with idempotency by 'task' the task's id is the key that the downstream must see",
    );
  }
  const method = member(raw, 'method');
  return {
    method: typeof method === 'string' ? method : 'POST',
    url: compileUrl(member(raw, 'url'), ['target', 'batchId'], 'request.url', findings),
    headers: {
      sent: { ...defaults, ...headers.sent },
      shown: { ...defaults, ...headers.shown },
      secrets: headers.secrets,
    },
    keyHeader: compileKeyHeader(config, headers, findings),
    callbackHeader: compileCallbackHeader(config, headers, findings),
    body,
  };
}

/**
 * Returns the name of the header for the idempotency key. Undefined: no key is sent, since the
 * downstream neither honours it nor can be asked about it later.
 */
function compileKeyHeader(config: unknown, headers: Headers, findings: Findings): string | undefined {
  const chosen = member(config, 'idempotencyHeader');
  const name = (typeof chosen === 'string' ? chosen : 'Idempotency-Key').toLowerCase();
  if (Object.hasOwn(headers.sent, name)) {
    findings.add(
      `request.headers.${name}`,
      'expected no such header: Muster writes the idempotency key into it; idempotencyHeader chooses another name',
    );
  }
  if (isTransportHeader(name)) findings.add('idempotencyHeader', 'expected no header that the transport writes');
  const idempotency = member(config, 'idempotency') ?? 'none';
  return idempotency !== 'none' || member(config, 'reconcileUrl') !== undefined ? name : undefined;
}

function compileCallbackHeader(config: unknown, headers: Headers, findings: Findings): string | undefined {
  const chosen = member(config, 'callbackHeader');
  if (typeof chosen !== 'string') return undefined;
  const name = chosen.toLowerCase();
  const key = member(config, 'idempotencyHeader');
  if (isTransportHeader(name)) findings.add('callbackHeader', 'expected no header that the transport writes');
  if (Object.hasOwn(headers.sent, name) || (typeof key === 'string' && key.toLowerCase() === name))
    findings.add(
      'callbackHeader',
      'expected a header that carries nothing else: Muster writes the callback URL into it',
    );
  return name;
}
