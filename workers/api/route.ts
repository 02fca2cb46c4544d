import type { z } from 'zod';
import type { Client } from '../../client/client';
import type { Admit } from '../../client/tasks/submitResult';
import type { Scope } from '../../postgres/api/token';
import type { Queryable } from '../../postgres/pool';
import type { ProblemName } from './problem';
import type { OperatorLimits } from './routes/operator';

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
  /** What the names in a list must begin with. */
  prefix?: string;
  /** Holds a limited token's tasks to its tenant's quotas. */
  admit?: Admit;
  operator: OperatorLimits;
  /** Aborted when the caller is gone, or this process stops. */
  signal: AbortSignal;
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
  /** Runs work once the transaction has committed (at once if there is none). */
  afterCommit(work: () => Promise<void>): void;
}

interface Answer<S extends z.ZodType = z.ZodType> {
  status: 200 | 201 | 202;
  schema: S;
  description: string;
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
  tag: string;
  summary: string;
  description?: string;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** The body may be left out. */
  bodyOptional?: boolean;
  answer: Answer;
  /** Its answer is a stream: server-sent events, or other text. */
  stream?: 'text/event-stream' | 'text/plain; version=0.0.4; charset=utf-8';
  /** Says whether this call waits, and so counts among those that do. */
  waits?: (query: Readonly<Record<string, unknown>>) => boolean;
  /** Problems that it may answer besides those of any route of its kind. */
  problems: readonly ProblemName[];
  keyed?: Keyed;
  /** Returns the document, or the pieces of a stream. */
  run(call: Call): Promise<unknown>;
}

type Of<S, Otherwise> = S extends z.ZodType ? z.output<S> : Otherwise;

interface Typed<P, Q, B, A extends z.ZodType> extends Omit<Route, 'params' | 'query' | 'body' | 'answer' | 'run'> {
  params?: P & z.ZodObject;
  query?: Q & z.ZodObject;
  body?: B & z.ZodType;
  answer: Answer<A>;
  run(call: Call<Of<P, undefined>, Of<Q, undefined>, Of<B, undefined>>): Promise<z.input<A>>;
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
