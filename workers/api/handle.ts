import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Client } from '../../client/client';
import type { KeyedRequest } from '../../postgres/api/idempotencyKey';
import type { Pool, Queryable } from '../../postgres/pool';
import { checkKey, idOfKey, once, requestHash } from './idempotency';
import type { Caller } from './tokens';
import type { Call, Route } from './route';
import type { OperatorLimits } from './routes/operator';
import { safely } from './streams';
import type { Quotas } from './tenants/quotas';
import { within } from './tenants/within';
import { checked, fromText } from './validate';

export interface HandleDeps {
  client: Client;
  /**
   * Only for the transactions of keys: an effect takes its connections from the client's pool, so
   * neither waits for the other.
   */
  keyPool: Pool;
  log: Logger;
  maxWaitS: number;
  quotas: Quotas;
  operator: OperatorLimits;
  /** Aborted when this process stops. */
  stopping: AbortSignal;
}

export interface Body {
  bytes: Buffer;
  value: unknown;
}

/** Handles one request of a route, from its checked parts to its answer. Refusals are thrown. */
export const handle = async (
  deps: HandleDeps,
  whole: Route,
  caller: Caller,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  const route = within(whole, caller.limits, { pool: deps.client.pool, quotas: deps.quotas });
  const body = request.body as Body | undefined;
  const call = (more: Partial<Call>): Call => ({
    params: partOf(route, 'params', request.params),
    query: partOf(route, 'query', request.query),
    body: bodyOf(route, body?.value),
    client: deps.client,
    maxWaitS: deps.maxWaitS,
    operator: deps.operator,
    signal: AbortSignal.any([deps.stopping, goneSignal(reply)]),
    afterCommit: () => undefined,
    ...more,
  });
  const header = request.headers['idempotency-key'];
  if (route.stream !== undefined) return stream(deps, route, await route.run(call({})), reply);
  if (route.keyed === undefined || header === undefined) {
    const later: (() => Promise<void>)[] = [];
    const answer = await route.run(call({ afterCommit: (work) => void later.push(work) }));
    for (const work of later) await work();
    return send(reply, route.answer.status, JSON.stringify(answer));
  }
  const keyed = {
    caller: caller.id,
    route: route.id,
    key: checkKey(String(header)),
    request: requestHash(request.url, body?.bytes ?? null),
  };
  return underKey(deps, route, keyed, call, reply);
};

const underKey = async (
  { keyPool }: HandleDeps,
  route: Route,
  keyed: KeyedRequest,
  call: (more: Partial<Call>) => Call,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  let later: (() => Promise<void>)[] = [];
  const more = (tx: Queryable): Partial<Call> => ({
    ...(route.keyed === 'tx' ? { tx } : {}),
    ...(route.keyed === 'id' ? { keyId: idOfKey(keyed) } : {}),
    afterCommit: (work) => void later.push(work),
  });
  call({}); // a malformed request is refused before anything is locked
  const answer = await once(keyPool, keyed, async (tx) => {
    later = []; // of an earlier try, which was rolled back
    return { status: route.answer.status, text: JSON.stringify(await route.run(call(more(tx)))) };
  });
  for (const work of later) await work();
  if (answer.replayed) void reply.header('idempotency-replayed', 'true');
  return send(reply, answer.status, answer.text);
};

const send = (reply: FastifyReply, status: number, text: string): FastifyReply =>
  reply.code(status).header('content-type', 'application/json; charset=utf-8').send(text);

const stream = ({ log }: HandleDeps, route: Route, made: unknown, reply: FastifyReply): FastifyReply => {
  void reply.code(route.answer.status).header('content-type', route.stream).header('x-accel-buffering', 'no');
  if (typeof made === 'string') return reply.send(made);
  const pieces = safely(made as AsyncIterable<string>, (error) =>
    log.warn({ err: error, operation: route.id }, 'api: a stream was interrupted'),
  );
  return reply.send(Readable.from(pieces, { objectMode: false }));
};

const partOf = (route: Route, part: 'params' | 'query', given: unknown): unknown => {
  const schema = route[part];
  const texts = (given ?? {}) as Record<string, unknown>;
  const place = part === 'params' ? 'path' : 'query';
  return schema === undefined ? undefined : checked(schema, fromText(schema, texts), place);
};

const bodyOf = (route: Route, value: unknown): unknown => {
  if (route.body === undefined) return undefined;
  return checked(route.body, value === undefined && route.bodyOptional === true ? {} : value, 'body');
};

const goneSignal = (reply: FastifyReply): AbortSignal => {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  return gone.signal;
};
