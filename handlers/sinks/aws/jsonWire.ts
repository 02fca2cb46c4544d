import type { JudgedItem, Refusal, Shape, Verdict, HttpWire, WireAnswer, WireItem } from '../../trials/trial';

/** What differs between the services that speak AWS JSON. */
export interface JsonOperation<Body> {
  /** The header `x-amz-target`, such as `AmazonSQS.SendMessageBatch`. */
  readonly target: string;
  readonly version: '1.0' | '1.1';
  readonly maxItems: number;
  readonly maxBytes?: number;
  readonly verdicts: readonly Verdict[];
  readonly shapes: readonly Shape[];
  /** The names of the service's errors for each refusal that it knows. */
  readonly errors: Readonly<Partial<Record<Refusal, string>>>;
  items(body: Body): readonly WireItem[];
  /** Returns the size of a call as the service counts it. */
  bytes?(body: Body): number;
  answer(items: readonly JudgedItem[], body: Body): object;
}

const STATUS: Readonly<Record<Refusal, number>> = {
  throttled: 400,
  unavailable: 503,
  content: 400,
  credentials: 403,
  absent: 400,
};

/** Returns the wire of an operation of AWS JSON 1.0 or 1.1, for the fake downstream. */
export function awsJsonWire<Body>(operation: JsonOperation<Body>): HttpWire {
  const { target, version, maxItems, maxBytes, verdicts, shapes, errors } = operation;
  const headers = { 'content-type': `application/x-amz-json-${version}` };
  const json = (status: number, body: object): WireAnswer => ({ status, headers, body: JSON.stringify(body) });
  return {
    maxItems,
    maxBytes,
    verdicts,
    shapes,
    refusals: Object.keys(errors) as Refusal[],
    read: ({ headers: sent, body }) => {
      if (sent['x-amz-target'] !== target)
        throw new Error(`x-amz-target: expected ${target}, got ${String(sent['x-amz-target'])}`);
      const parsed = JSON.parse(body.toString()) as Body;
      return { kind: 'call', items: operation.items(parsed), bytes: operation.bytes?.(parsed) };
    },
    answer: (items, { body }) => json(200, operation.answer(items, JSON.parse(body.toString()) as Body)),
    refuse: (refusal) => json(STATUS[refusal], { __type: `aws#${errors[refusal]!}`, message: `told so: ${refusal}` }),
  };
}
