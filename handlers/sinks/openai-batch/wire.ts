import type { JudgedItem, Reading, Refusal, HttpWire, WireAnswer, WireRequest } from '../../trials/trial';
import { markIn } from '../../trials/trial';
import type { OpenaiBatch } from './api';

const STATUS: Readonly<Record<Refusal, number>> = {
  throttled: 429,
  unavailable: 503,
  content: 400,
  credentials: 401,
  absent: 404,
};

interface Line {
  custom_id: string;
}

const json = (status: number, body: object): WireAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** Returns the lines of the file in a multipart body. */
const uploadedLines = (body: Buffer): string[] =>
  body
    .toString()
    .split('\r\n')
    .flatMap((part) => part.split('\n'))
    .filter((line) => line.startsWith('{'));

/** Returns the wire of a batch API: upload, create, ask, list, read the results. */
export function openaiWire(maxItems: number, maxBytes: number): HttpWire {
  const files: string[][] = [];
  const batches: OpenaiBatch[] = [];
  const fileOf = (id: string): string[] => files[Number(/\d+$/.exec(id)?.[0])] ?? [];
  const keep = (lines: string[]): string => `file-${files.push(lines) - 1}`;
  const wantedBy = ({ body }: WireRequest) =>
    JSON.parse(body.toString()) as { input_file_id: string; metadata: Record<string, string> };
  return {
    maxItems,
    maxBytes,
    isAsynchronous: true,
    verdicts: ['busy', 'refused', 'omitted'],
    shapes: ['reversed', 'twice', 'foreign'],
    refusals: Object.keys(STATUS) as Refusal[],
    read: (request): Reading => {
      const { method, path, body } = request;
      if (path === '/v1/files') return { kind: 'aside', answer: json(200, { id: keep(uploadedLines(body)) }) };
      if (path.startsWith('/v1/files/')) {
        const [, id = ''] = /^\/v1\/files\/([^/]+)\/content$/.exec(path) ?? [];
        return {
          kind: 'results',
          answer: {
            status: 200,
            body: fileOf(id)
              .map((line) => `${line}\n`)
              .join(''),
          },
        };
      }
      if (method === 'POST') {
        const lines = fileOf(wantedBy(request).input_file_id);
        const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
        return { kind: 'call', items: lines.map((line) => ({ mark: markIn(line) })), bytes };
      }
      const [, place] = /^\/v1\/batches\/batch-(\d+)$/.exec(path) ?? [];
      const one = batches[Number(place)];
      return { kind: 'aside', answer: json(200, one ?? { data: batches.toReversed(), has_more: false }) };
    },
    answer: (items, request) => {
      const { input_file_id, metadata } = wantedBy(request);
      const lines = fileOf(input_file_id).map((line) => JSON.parse(line) as Line);
      const output_file_id = keep(items.flatMap((item) => outputOf(item, lines)));
      const id = `batch-${batches.length}`;
      batches.push({ id, status: 'completed', output_file_id, created_at: Date.now() / 1_000, metadata });
      return json(200, { ...batches.at(-1), status: 'validating' });
    },
    refuse: (refusal) => json(STATUS[refusal], { error: { code: refusal, message: 'told so' } }),
  };
}

function outputOf({ verdict, place }: JudgedItem, lines: readonly Line[]): string[] {
  const custom_id = lines[place]?.custom_id ?? String(place);
  const answered = (status_code: number) => [
    JSON.stringify({ custom_id, response: { status_code, body: { told: verdict } }, error: null }),
  ];
  switch (verdict) {
    case 'ok':
      return answered(200);
    case 'busy':
      return answered(500);
    case 'refused':
      return answered(400);
    case 'omitted':
      return [];
  }
}
