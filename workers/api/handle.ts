import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Client } from '../../client/client';
import { TRACEPARENT } from '../../handlers/tracing/traceparent';
import type { KeyedRequest } from '../../postgres/api/idempotencyKey';
import type { Pool, Queryable } from '../../postgres/pool';
import { whenClosed } from '../doors/sockets';
import { authorize } from './auth';
import type { Memory } from './bodies/memory';
import { LARGE_ANSWER } from './bodies/memory';
import type { Costs } from './callers/costs';
import type { FairTime, Stint } from './callers/fairTime';
import type { Looks } from './callers/looks';
import { spread } from './callers/looks';
import type { Turns } from './callers/turns';
import type { Validity } from './callers/validity';
import { isOfPage } from './dashboard/cookie';
import { asksDryRun, dryRunOf } from './dryRuns/dryRun';
import type { Snapshots } from './dashboard/snapshots';
import { checkKey, idOfKey, once, requestHash } from './idempotency';
import type { Admission, Ticket } from './limits';
import type { Caller } from './tokens';
import type { Call, Route } from './route';
import { bodyOf } from './route';
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
  /** Of all who wait in this process. */
  looks: Looks;
  validity: Validity;
  /** Of heavy requests. */
  turns: Turns;
  costs: Costs;
  fair: FairTime;
  admission: Admission;
  memory: Memory;
  /** Of the pages of all viewers. */
  snapshots: Snapshots;
}

/** A request, and what was found out about it. */
export interface Asked {
  request: FastifyRequest;
  reply: FastifyReply;
  caller: Caller;
  /** Null, as `stint`: a route that is open to all. */
  ticket: Ticket | null;
  stint: Stint | null;
}

export interface Body {
  bytes: Buffer;
  value: unknown;
}

/** Handles one request of a route, when it is its turn. Refusals are thrown. */
export const handle = async (deps: HandleDeps, route: Route, asked: Asked): Promise<FastifyReply> => {
  const { request, caller } = asked;
  if (route.isHeavy?.((request.body as Body | undefined)?.value) !== true) return respond(deps, route, asked);
  const leave = await deps.turns.enter(caller.id);
  try {
    return await respond(deps, route, asked);
  } finally {
    leave();
  }
};

/** Handles a request whose turn it is, from its checked parts to its answer. */
const respond = async (deps: HandleDeps, whole: Route, asked: Asked): Promise<FastifyReply> => {
  const { request, reply, caller, stint } = asked;
  const timed = <T>(work: () => T): T => (stint === null ? work() : stint.during(work));
  const isDryRun = asksDryRun(request.headers);
  const called = isDryRun ? dryRunOf(whole) : whole;
  const quotas = isDryRun ? deps.quotas.ofDryRuns() : deps.quotas;
  const route = within(called, caller.limits, { pool: deps.client.pool, quotas });
  const body = request.body as Body | undefined;
  const signal = endSignal(deps, route, asked);
  const { [TRACEPARENT]: traceparent } = request.headers;
  const call = (more: Partial<Call>): Call => {
    const params = partOf(route, 'params', request.params);
    const query = partOf(route, 'query', request.query);
    const key = keyOfLooks(route, params, query);
    const read = (): unknown => deps.costs.during(caller.id, body?.bytes.length ?? 0, () => bodyIn(route, body?.value));
    const given = timed(read);
    const needed = route.alsoNeeds?.(given) ?? null;
    if (needed !== null) authorize(caller, needed);
    return {
      params,
      query,
      body: given,
      client: deps.client,
      maxWaitS: deps.maxWaitS,
      operator: deps.operator,
      caller,
      signal,
      together: (look) => (ms, mostMs) => deps.looks.next(key, lookIn(deps, caller, ms, mostMs), look),
      afterCommit: () => undefined,
      ...(typeof traceparent === 'string' ? { traceparent } : {}),
      ...more,
    };
  };
  const answered = async (made: Call): Promise<Answered> => {
    const answer = await route.run(made);
    const hasEffect = route.keyed !== undefined && (route.hasEffect?.(answer) ?? route.keyed !== 'harmless');
    return { text: timed(() => JSON.stringify(answer)), hasEffect };
  };
  const header = request.headers['idempotency-key'];
  if (route.headers !== undefined) void reply.headers(route.headers(request.headers));
  if (route.stream !== undefined) return stream(deps, route, await route.run(call({})), reply);
  if (route.keyed === undefined || header === undefined) {
    const later: (() => Promise<void>)[] = [];
    const made = call({ afterCommit: (work) => void later.push(work) });
    await route.until?.(made);
    const build = async (): Promise<string> => (await answered(made)).text;
    // Who waits for what another viewer reads holds no place for large answers.
    const run = builder(deps, asked, { route, isDryRun, build, made });
    const look = isOfPage(request.headers) ? shown(deps, route, made, { run, isDryRun }) : run;
    const text = await look();
    for (const work of later) await work();
    return send(reply, route.answer, text);
  }
  const keyed = {
    caller: caller.id,
    route: route.id,
    key: checkKey(String(header)),
    request: requestHash(request.url, body?.bytes ?? null),
  };
  const checked = call({}); // a malformed request is refused before anything is locked
  return underKey(deps, route, asked, keyed, (more) => answered({ ...checked, ...more }));
};

/** Returns in how many ms a look is taken that a caller wants in `ms`, who waits for `mostMs`. */
const lookIn = ({ fair, admission }: HandleDeps, { id }: Caller, ms: number, mostMs = Infinity): number =>
  spread(ms, fair.isContended(id) ? admission.waitingOf(id) : 0, mostMs);

/** Reads for the pages of all viewers of one reach. A change by one of them shows at once. */
const shown =
  (
    { snapshots }: HandleDeps,
    { id, method, waits, isOwn = false }: Route,
    made: Call,
    { run, isDryRun }: { run: () => Promise<string>; isDryRun: boolean },
  ) =>
  async (): Promise<string> => {
    const { params, query, caller } = made;
    if (method === 'GET' && !isOwn && waits === undefined)
      return snapshots.of(JSON.stringify([id, params, query, caller.limits]), run);
    const text = await run();
    if (method !== 'GET' && !isDryRun) snapshots.clear();
    return text;
  };

/** An answer, and whether a repeat of its request would say something else that matters. */
interface Answered {
  text: string;
  hasEffect: boolean;
}

const underKey = async (
  deps: HandleDeps,
  route: Route,
  asked: Asked,
  keyed: KeyedRequest,
  answered: (more: Partial<Call>) => Promise<Answered>,
): Promise<FastifyReply> => {
  let later: (() => Promise<void>)[] = [];
  const more = (tx: Queryable): Partial<Call> => ({
    ...(route.keyed === 'tx' ? { tx } : {}),
    ...(route.keyed === 'id' ? { keyId: idOfKey(keyed) } : {}),
    afterCommit: (work) => void later.push(work),
  });
  const answer = await once(
    deps.keyPool,
    keyed,
    async (tx) => {
      later = []; // of an earlier try, which was rolled back
      const { text, hasEffect } = await answered(more(tx));
      // Large ones cost the store for a day: a caller could fill it with what changes nothing.
      return { status: route.answer.status, text, isKept: hasEffect || text.length <= LARGE_ANSWER };
    },
    deps.client.sealer,
  );
  for (const work of later) await work();
  if (answer.replayed) void asked.reply.header('idempotency-replayed', 'true');
  return send(asked.reply, answer, held(deps, asked, answer.text));
};

/** Returns how an answer is built, and counted until its caller has read it. */
const builder = (
  deps: HandleDeps,
  asked: Asked,
  { route, isDryRun, build, made }: { route: Route; isDryRun: boolean; build: () => Promise<string>; made: Call },
): (() => Promise<string>) => {
  if (route.isLarge === true && isWaiting(route, asked)) {
    // Those who waited for the same are answered together: what one of them may see, all may.
    const key = JSON.stringify([keyOfLooks(route, made.params, made.query), made.caller.limits]);
    return () => counted(deps, asked, () => deps.looks.next(key, 0, () => inTurn(deps, asked, build)));
  }
  if (route.isLarge === true) return () => inTurn(deps, asked, () => counted(deps, asked, build));
  if (route.method === 'GET' || isDryRun) return () => counted(deps, asked, build);
  return async () => held(deps, asked, await build());
};

/** Builds an answer that may be large when it is its turn. */
const inTurn = async ({ memory }: HandleDeps, { caller }: Asked, build: () => Promise<string>): Promise<string> => {
  const leave = await memory.building.enter(1, caller.id);
  try {
    return await build();
  } finally {
    leave();
  }
};

/** Builds an answer and, if it is large, keeps room for it until its end. */
const counted = async (
  { memory }: HandleDeps,
  { ticket, caller }: Asked,
  build: () => Promise<string>,
): Promise<string> => {
  const text = await build();
  if (text.length > LARGE_ANSWER) ticket?.with(await memory.unread.enter(text.length, caller.id));
  return text;
};

/** Keeps room for the answer to a change, which does not wait for it: the change was made. */
const held = ({ memory }: HandleDeps, { ticket, caller }: Asked, text: string): string => {
  if (text.length > LARGE_ANSWER) ticket?.with(memory.unread.hold(text.length, caller.id));
  return text;
};

const send = (reply: FastifyReply, { status, type }: { status: number; type?: string }, text: string): FastifyReply =>
  reply
    .code(status)
    .header('content-type', `${type ?? 'application/json'}; charset=utf-8`)
    .send(text);

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

const isWaiting = ({ waits }: Route, { request }: Pick<Asked, 'request'>): boolean =>
  waits?.(request.query as Record<string, unknown>) === true;

/** What is waited for; not how long. */
const keyOfLooks = (route: Route, params: unknown, query: unknown): string =>
  JSON.stringify([route.id, params, { ...(query as object | undefined), wait: undefined }]);

const bodyIn = (route: Route, value: unknown): unknown => {
  const body = bodyOf(route);
  if (body === null) return undefined;
  return checked(body.schema, value === undefined && body.isOptional ? {} : value, 'body');
};

/** A reason at hand: making one for each request, as `abort` does by itself, costs time. */
const GONE = new Error('The caller is gone.');

/** Returns what ends the wait of a call: see `Call.signal`. */
const endSignal = (
  { stopping, validity }: HandleDeps,
  route: Route,
  { request, reply, caller }: Asked,
): AbortSignal => {
  const gone = new AbortController();
  whenClosed(request.raw, reply.raw, () => gone.abort(GONE));
  if (!isWaiting(route, { request })) return AbortSignal.any([stopping, gone.signal]);
  const { signal, leave } = validity.watch(caller.tokenId);
  whenClosed(request.raw, reply.raw, leave);
  return AbortSignal.any([stopping, gone.signal, signal]);
};
