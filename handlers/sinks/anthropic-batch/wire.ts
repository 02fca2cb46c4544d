import type { JudgedItem, Reading, Refusal, HttpWire, WireAnswer, WireRequest } from '../../trials/trial';
import { markIn } from '../../trials/trial';

const STATUS: Readonly<Record<Refusal, number>> = {
  throttled: 429,
  unavailable: 529,
  content: 413,
  credentials: 401,
  absent: 404,
};

const json = (status: number, body: object): WireAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const lines = (all: readonly object[]): WireAnswer => ({
  status: 200,
  headers: { 'content-type': 'application/x-jsonl' },
  body: all.map((line) => `${JSON.stringify(line)}\n`).join(''),
});

interface Body {
  requests: { custom_id: string; params: object }[];
}
const bodyOf = ({ body }: WireRequest): Body => JSON.parse(body.toString()) as Body;

/** Returns the wire of the Message Batches API: create, ask, read the results. */
export function anthropicWire(maxItems: number, maxBytes: number): HttpWire {
  const batches: WireAnswer[] = [];
  return {
    maxItems,
    maxBytes,
    isAsynchronous: true,
    verdicts: ['busy', 'refused', 'omitted'],
    shapes: ['reversed', 'twice', 'foreign'],
    refusals: Object.keys(STATUS) as Refusal[],
    read: (request): Reading => {
      const [, place, verb] = /^\/v1\/messages\/batches(?:\/b-(\d+))?(?:\/(\w+))?$/.exec(request.path) ?? [];
      if (request.method === 'POST' && place === undefined) {
        const items = bodyOf(request).requests.map(({ params }) => ({ mark: markIn(JSON.stringify(params)) }));
        return { kind: 'call', items, bytes: request.body.length };
      }
      if (verb === 'results') return { kind: 'results', answer: batches[Number(place)] ?? json(404, {}) };
      return { kind: 'aside', answer: json(200, { id: `b-${place}`, processing_status: 'ended' }) };
    },
    answer: (items, request) => {
      batches.push(lines(items.flatMap((item) => lineOf(item, bodyOf(request)))));
      return json(200, { id: `b-${batches.length - 1}`, type: 'message_batch', processing_status: 'in_progress' });
    },
    refuse: (refusal) => json(STATUS[refusal], { type: 'error', error: { type: refusal, message: 'told so' } }),
  };
}

function lineOf({ verdict, place }: JudgedItem, { requests }: Body): object[] {
  const custom_id = requests[place]?.custom_id ?? String(place);
  const errored = (type: string) => [{ custom_id, result: { type: 'errored', error: { error: { type } } } }];
  switch (verdict) {
    case 'ok':
      return [{ custom_id, result: { type: 'succeeded', message: { id: `msg-${place}` } } }];
    case 'busy':
      return errored('overloaded_error');
    case 'refused':
      return errored('invalid_request_error');
    case 'omitted':
      return [];
  }
}
