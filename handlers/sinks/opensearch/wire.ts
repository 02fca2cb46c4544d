import type { Refusal, HttpWire, WireAnswer, WireItem } from '../../trials/trial';
import { markIn } from '../../trials/trial';

const STATUS: Readonly<Record<Refusal, number>> = {
  throttled: 429,
  unavailable: 503,
  content: 413,
  credentials: 401,
  absent: 404,
};

const json = (status: number, body: object): WireAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

function itemsOf(body: Buffer): WireItem[] {
  const lines = body.toString().trimEnd().split('\n');
  const items: WireItem[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const { index } = JSON.parse(lines[at]!) as { index: { _index: string; _id: string } };
    items.push({ mark: markIn(lines[at + 1] ?? ''), key: JSON.stringify([index._index, index._id]) });
  }
  return items;
}

/** Returns the wire of `_bulk`. Its answers have one item per action, in the same order. */
export const opensearchWire = (maxItems: number, maxBytes: number): HttpWire => ({
  maxItems,
  maxBytes,
  verdicts: ['busy', 'refused', 'omitted'],
  shapes: ['twice', 'foreign'],
  refusals: Object.keys(STATUS) as Refusal[],
  read: ({ body }) => ({ kind: 'call', items: itemsOf(body), bytes: body.length }),
  answer: (items) =>
    json(200, {
      took: 1,
      errors: items.some(({ verdict }) => verdict !== 'ok'),
      items: items.flatMap(({ verdict }): object[] => {
        if (verdict === 'omitted') return [];
        if (verdict === 'ok') return [{ index: { status: 201, _version: 1 } }];
        const status = verdict === 'busy' ? 429 : 400;
        return [{ index: { status, error: { type: 'told_so', reason: verdict } } }];
      }),
    }),
  refuse: (refusal) => json(STATUS[refusal], { error: { type: refusal, reason: 'told so' } }),
});
