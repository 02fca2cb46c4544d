import type { Handler } from '../../../handlers';
import { httpHandler } from '../../../handlers';
import type { Answer } from '../../handlers/downstream';
import { json } from '../../handlers/downstream';

/** What the n-th call of a target is answered, and what such calls are known by afterwards. */
export type Script = (call: number, items: { id: string }[]) => Answer;
export const scripts = new Map<string, Script>();
export const callsOf = new Map<string, { ids: string[]; key: string | undefined }[]>();

export const ok = (items: { id: string }[], change: (item: { id: string }) => object | null = () => ({})): Answer =>
  json(200, {
    results: items
      .map((item) => change(item) && { id: item.id, status: 200, ...change(item) })
      .filter((item) => item !== null),
  });

/** An answer above it is not read, however good the results in it are. */
export const MAX_RESPONSE_BYTES = 20_000;

/** One of each idempotency, on the downstream at this address. */
export const tableHandlers = (downstream: string): Handler[] =>
  (['none', { by: 'batch' }, { by: 'task' }] as const).map((idempotency) =>
    httpHandler({
      kind: 'http',
      name: typeof idempotency === 'string' ? 'none' : `by-${idempotency.by}`,
      target: 'to',
      limits: { maxItems: 8 },
      linger: { lingerMs: 50 },
      idempotency,
      timeoutMs: 1_000,
      maxResponseBytes: MAX_RESPONSE_BYTES,
      retry: { inPlace: { times: 2, baseMs: 20 }, delayed: { baseMs: 50, maxMs: 200 }, maxAttempts: 4 },
      request: {
        url: `${downstream}/batch`,
        envelope: { to: '{{target}}', items: '{{items}}' },
        item: { id: '{{id}}' },
      },
      response: { results: 'results', matchBy: 'id', status: { path: 'status' }, error: 'error', result: false },
    }),
  );

export interface Row {
  id: string;
  state: number;
  attempts: number;
}
export const STATES = ['created', 'batched', 'in-progress', 'unknown', 'succeeded', 'failed', 'dead', 'cancelled'];
export const all = (m: number, value: string, except: Record<string, string> = {}): Record<string, string> => ({
  ...Object.fromEntries(Array.from({ length: m }, (_, i) => [String(i), value])),
  ...except,
});
export const numberOf = (id: string): number => Number(id.slice(id.lastIndexOf('-') + 1));
export const calls = (to: string): { ids: string[]; key: string | undefined }[] => callsOf.get(to) ?? [];
