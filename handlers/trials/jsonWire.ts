import type { Refusal, Verdict, HttpWire, WireAnswer } from './trial';
import { markIn } from './trial';

/** What an answer says of one item, for `JsonWireOptions.answer`. */
export interface JsonVerdict {
  readonly verdict: Verdict;
  /** The item as it was sent; undefined: it was not. */
  readonly item: unknown;
  readonly place: number;
}

/** How a downstream speaks JSON over HTTP. */
export interface JsonWireOptions {
  /** The most items of a call. */
  readonly maxItems: number;
  /** The most bytes of a body. */
  readonly maxBytes?: number;
  /** Returns the items of a request's body. Default: the body, which is an array. */
  readonly items?: (body: unknown) => readonly unknown[];
  /** Returns the idempotency key of an item; default: the downstream honours none. */
  readonly key?: (item: unknown) => string | undefined;
  /** The header with an idempotency key of the whole call. */
  readonly keyHeader?: string;
  /** Returns the body of the answer. Items of verdict `omitted` are not among `results`. */
  readonly answer: (results: readonly JsonVerdict[]) => unknown;
  /** The verdicts that `answer` can express, besides `ok`; default all. */
  readonly verdicts?: readonly Verdict[];
  /** Results are matched by their places, so that their order says which is which. */
  readonly byPlace?: boolean;
  /** The HTTP status of each refusal; null: the downstream does not know it. */
  readonly statuses?: Readonly<Partial<Record<Refusal, number | null>>>;
}

const STATUSES: Readonly<Record<Refusal, number>> = {
  throttled: 429,
  unavailable: 503,
  content: 422,
  credentials: 401,
  absent: 404,
};

/** Returns the wire of a downstream that takes and answers JSON. */
export function jsonWire(options: JsonWireOptions): HttpWire {
  const statuses = { ...STATUSES, ...options.statuses };
  const listed = (body: Buffer): readonly unknown[] => {
    const value: unknown = JSON.parse(body.toString());
    return options.items === undefined ? (value as unknown[]) : options.items(value);
  };
  const keyOf = (item: unknown, place: number, header: string | undefined): string | undefined =>
    options.key?.(item) ?? (header === undefined ? undefined : `${header}/${place}`);
  return {
    maxItems: options.maxItems,
    maxBytes: options.maxBytes,
    verdicts: options.verdicts ?? ['busy', 'refused', 'omitted'],
    shapes: options.byPlace === true ? ['twice', 'foreign'] : ['reversed', 'twice', 'foreign'],
    refusals: (Object.keys(statuses) as Refusal[]).filter((refusal) => statuses[refusal] !== null),
    read: ({ body, headers }) => {
      const header = options.keyHeader && headers[options.keyHeader.toLowerCase()];
      const items = listed(body).map((item, place) => ({
        mark: markIn(JSON.stringify(item)),
        key: keyOf(item, place, typeof header === 'string' ? header : undefined),
      }));
      return { kind: 'call', items, bytes: body.length };
    },
    answer: (items, { body }) => {
      const sent = listed(body);
      const told = items.filter(({ verdict }) => verdict !== 'omitted');
      return json(200, options.answer(told.map(({ verdict, place }) => ({ verdict, place, item: sent[place] }))));
    },
    refuse: (refusal) => json(statuses[refusal]!, { error: `told so: ${refusal}` }),
  };
}

const json = (status: number, value: unknown): WireAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});
