import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import type { Client } from '../../client/client';
import type { Admit, AdmitLanes } from '../../client/tasks/submitResult';
import type { Scope } from '../../postgres/api/token';
import type { Queryable } from '../../postgres/pool';
import type { ProblemName } from './problem';
import type { OperatorLimits } from './routes/operator';
import type { Again } from './streams';
import type { Caller } from './tokens';

/** One request as its route sees it, with every part checked. */
export interface Call<P = unknown, Q = unknown, B = unknown> {
  params: P;
  query: Q;
  body: B;
  client: Client;
  /** Longest that this process holds an answer back. */
  maxWaitS: number;
  /** The tenant of a limited token: what is made is marked with it, and only that is listed. */
  tenant?: string;
  /** Only executions of these functions are listed: their names, or beginnings with a `*`. */
  functions?: readonly string[];
  /** Only lanes of these handlers are listed: their names, or beginnings with a `*`. */
  handlers?: readonly string[];
  /** What the names in a list must begin with. */
  prefix?: string;
  /** Holds a limited token's tasks to its tenant's quotas. */
  admit?: Admit;
  /** Holds them to lanes of its handlers. */
  admitLanes?: AdmitLanes;
  operator: OperatorLimits;
  caller: Caller;
  /** Aborted when the caller is gone or no longer admitted, or this process stops. */
  signal: AbortSignal;
  /** Makes looks at what this call names that are shared with other callers who wait for it. */
  together<T>(look: () => Promise<T>): Again<T>;
  /**
   * With an Idempotency-Key, for a `keyed: 'tx'` route: the transaction in which the answer is
   * kept, too.
   */
  tx?: Queryable;
  /**
   * With an Idempotency-Key, for a `keyed: 'id'` route: a UUID made of it, so that a repeat of the
   * effect is the same.
   */
  keyId?: string;
  /** The W3C trace context that the caller sent, for what it submits. */
  traceparent?: string;
  /** Runs work once the transaction has committed (at once if there is none). */
  afterCommit(work: () => Promise<void>): void;
}

interface Answer<S extends z.ZodType = z.ZodType> {
  status: 200 | 201 | 202;
  schema: S;
  description: string;
  /** Default: `application/json`. */
  type?: string;
}

/**
 * How a POST is safe to repeat under an Idempotency-Key: its effect joins the transaction, or
 * carries an id made of the key, or changes nothing the second time.
 */
type Keyed = 'tx' | 'id' | 'harmless';

export interface Route {
  /** Operation id: unique, for generated clients. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `{name}` for parameters. */
  path: string;
  /** The scope that a token needs; `open`: none is needed. */
  scope: Scope | 'open';
  /** Returns the scope that a token needs besides, for what a checked body asks; null: none. */
  alsoNeeds?: (body: unknown) => Scope | null;
  /**
   * Until a token was made it is answered to all: it says how to call the others. Of who may have
   * it, it never waits for its turn, and so must cost little.
   */
  isShown?: boolean;
  tag: string;
  summary: string;
  description?: string;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** The body may be left out. */
  bodyOptional?: boolean;
  answer: Answer;
  /** Its answer is a stream: server-sent events, or text that is made already. */
  stream?: 'text/event-stream' | 'text/plain; version=0.0.4; charset=utf-8' | 'application/json; charset=utf-8';
  /** Says whether this call waits, and so counts among those that do. */
  waits?: (query: Readonly<Record<string, unknown>>) => boolean;
  /** Says whether a call with this body, unchecked, holds a database connection for long. */
  isHeavy?: (body: unknown) => boolean;
  /** Its answer is about the caller itself, and for no other. */
  isOwn?: boolean;
  /**
   * Its answer may have megabytes, or nearly: few are built at once. Not for what takes seconds to
   * read: it would keep the others waiting.
   */
  isLarge?: boolean;
  /** Problems that it may answer besides those of any route of its kind. */
  problems: readonly ProblemName[];
  keyed?: Keyed;
  /**
   * Says whether a repeat would be answered otherwise in a way that matters: then also a large
   * answer is kept under an Idempotency-Key. Default: yes, unless a repeat is harmless.
   */
  hasEffect?(answer: unknown): boolean;
  /** Returns headers of the answer, made of the request's: those of a session. */
  headers?(asked: Readonly<IncomingHttpHeaders>): Record<string, string>;
  /** Waits, for a route whose answer is built only afterwards. */
  until?(call: Call): Promise<void>;
  /** Returns the document, or the pieces of a stream. */
  run(call: Call): Promise<unknown>;
}

/** Of a change that needs none: it may be `{}`, so that any client can send it as JSON. */
const NOTHING = z.strictObject({});

/** Returns the contract of a route's body; null: it takes none. */
export const bodyOf = ({ method, body, bodyOptional }: Route): { schema: z.ZodType; isOptional: boolean } | null => {
  if (body !== undefined) return { schema: body, isOptional: bodyOptional === true };
  return method === 'GET' ? null : { schema: NOTHING, isOptional: true };
};

type Of<S, Otherwise> = S extends z.ZodType ? z.output<S> : Otherwise;

interface Typed<P, Q, B, A extends z.ZodType> extends Omit<
  Route,
  'params' | 'query' | 'body' | 'answer' | 'until' | 'run' | 'hasEffect'
> {
  params?: P & z.ZodObject;
  query?: Q & z.ZodObject;
  body?: B & z.ZodType;
  answer: Answer<A>;
  until?(call: Call<Of<P, undefined>, Of<Q, undefined>, Of<B, undefined>>): Promise<void>;
  run(call: Call<Of<P, undefined>, Of<Q, undefined>, Of<B, undefined>>): Promise<z.input<A>>;
  hasEffect?(answer: z.input<A>): boolean;
}

/** Types a route's `run` by its contracts. */
export const route = <P = undefined, Q = undefined, B = undefined, A extends z.ZodType = z.ZodType>(
  typed: Typed<P, Q, B, A>,
): Route => typed;

interface Streamed<P, Q> extends Omit<Typed<P, Q, undefined, z.ZodObject>, 'run' | 'stream'> {
  run(call: Call<Of<P, undefined>, Of<Q, undefined>>): Promise<AsyncIterable<string>>;
}
/** Makes a route that answers server-sent events. */
export const eventRoute = <P = undefined, Q = undefined>(streamed: Streamed<P, Q>): Route =>
  ({ ...streamed, stream: 'text/event-stream', waits: () => true }) as unknown as Route;
