import type { Server } from 'node:net';

/**
 * What a handler brings to be certified: a copy of itself that calls a fake downstream, payloads,
 * and the downstream's wire format. `certify` does the rest.
 */
export interface Trial<Handler> {
  /** Returns the same handler, all of whose calls go to this address (`http://127.0.0.1:port`). */
  at(address: string): Handler;
  /**
   * Returns the payload of one task with this text in its content. The text begins with a mark, by
   * which the wire finds the task again. All payloads must have the same target.
   */
  payload(text: string): unknown;
  /** Creates the wire of one fake downstream, which may keep state. */
  wire(): Wire;
}

/** What a downstream can say about one item. `omitted`: the answer says nothing of it. */
export type Verdict = 'ok' | 'busy' | 'refused' | 'omitted';

/** What a downstream can say about a whole call, of which nothing is applied then. */
export type Refusal = 'throttled' | 'unavailable' | 'content' | 'credentials' | 'absent';

/** An answer whose list of items is not what the call asked for. */
export type Shape = 'reversed' | 'twice' | 'foreign';

/** How the answer to one call is spoiled. */
export type Break =
  /** The connection is reset, without an answer. */
  | 'reset'
  /** The connection is closed in order, without an answer. */
  | 'closed'
  /** Status 500. */
  | 'error'
  /** Half of the body, then the connection is reset. */
  | 'cut'
  /** Half of the body, then nothing more. */
  | 'stalled'
  /** Status 200 with a page in HTML. */
  | 'page'
  /** Status 200 without a body. */
  | 'empty';

export interface WireRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export interface WireAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** One item of a call, as the downstream reads it. */
export interface WireItem {
  /** Finds the task again, whatever the call names it: `markIn` of its content. */
  readonly mark: string;
  /** The idempotency key that the item carries, if the downstream honours one. */
  readonly key?: string;
}

export interface JudgedItem extends WireItem {
  readonly verdict: Verdict;
  /** Its place among the items of the call. */
  readonly place: number;
}

/** How the downstream understands a request. */
export type Reading =
  /** A call with effects. `bytes`: its size as the downstream's limit counts it. */
  | { readonly kind: 'call'; readonly items: readonly WireItem[]; readonly bytes?: number }
  /** The results of an accepted call: the second place where an answer can break off. */
  | { readonly kind: 'results'; readonly answer: WireAnswer }
  /** Anything else, which has no effect: a look-up, an upload, a question for a state. */
  | { readonly kind: 'aside'; readonly answer: WireAnswer };

/** What one downstream can say, and how much it takes. */
export interface WireFacts {
  /** What else than `ok` an answer can say of one item. */
  readonly verdicts: readonly Verdict[];
  /** The wrong lists that an answer could have. */
  readonly shapes: readonly Shape[];
  /** The refusals of a whole call that the downstream knows. */
  readonly refusals: readonly Refusal[];
  /** The largest call that the downstream takes, in its own counting. */
  readonly maxBytes?: number;
  /** The most items of a call that the downstream takes. */
  readonly maxItems: number;
  /** False: answers have no headers, so that no Retry-After is known. */
  readonly hasHeaders?: boolean;
  /** How an answer can be spoiled; default: in every way. */
  readonly breaks?: readonly Break[];
  /** The answer to a call only accepts it, and its results are fetched by other requests. */
  readonly isAsynchronous?: boolean;
}

/** The language of a downstream that speaks HTTP. */
export interface HttpWire extends WireFacts {
  read(request: WireRequest): Reading;
  /** Returns the answer to a call; `items` are in the order in which the answer shall have them. */
  answer(items: readonly JudgedItem[], request: WireRequest): WireAnswer;
  refuse(refusal: Refusal): WireAnswer;
}

/** What the fake does with a call, which is applied already as far as it says so. */
export interface Decision {
  readonly refuse?: Refusal;
  readonly breaks?: { readonly how: Break; readonly applied: boolean };
  readonly delayMs?: number;
}

/** A downstream that speaks another protocol than HTTP, with a server that speaks it. */
export interface ServedWire extends WireFacts {
  /** Creates the server. It asks `decide` once per call, and does so. */
  serve(decide: (items: readonly WireItem[], bytes: number) => Decision): Server;
}

/** The language of one downstream, as far as the fake needs it. */
export type Wire = HttpWire | ServedWire;

const MARK = /mark-\d+-end/;

/** Returns the mark of the task at this place of a case. */
export const markOf = (place: number): string => `mark-${place}-end`;

/** Finds the mark in the content of an item. Throws where there is none: the wire is wrong. */
export function markIn(content: string): string {
  const mark = MARK.exec(content)?.[0];
  if (mark === undefined)
    throw new Error(
      `Cannot find the mark of an item: expected ${markOf(0)} or alike in it, got ${content.slice(0, 200)}`,
    );
  return mark;
}
