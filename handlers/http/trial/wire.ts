import type { HttpWire, JudgedItem, Refusal, Shape, Verdict, WireAnswer, WireItem } from '../../trials/trial';
import { markIn } from '../../trials/trial';
import type { Handler } from '../../types';
import { member } from '../path';
import type { Path } from '../path';
import type { StatusTable } from '../patterns';
import type { ResponsePlan } from '../response';
import type { Verdict as StatusVerdict } from '../statusCodes';
import { verdictOf } from '../statusCodes';

/** What the wire of a handler in JSON is made of. */
export interface WirePlan {
  readonly config: unknown;
  readonly response: ResponsePlan;
  readonly answers: StatusTable<StatusVerdict>;
  readonly keyHeader: string | undefined;
  readonly hasTarget: boolean;
  readonly limits: Handler['limits'];
}

/** Statuses that can say each refusal, the commonest first. */
const STATUSES: Readonly<Record<Refusal, readonly [verdict: StatusVerdict, statuses: readonly number[]]>> = {
  throttled: ['later', [429, 425, 503]],
  unavailable: ['later', [503, 502, 500]],
  content: ['rejected', [422, 400, 413]],
  credentials: ['halt', [401, 403]],
  absent: ['halt', [404, 410]],
};
/** A status of its class, for patterns such as `4xx`. */
const OF_CLASS: Readonly<Record<string, number>> = { '2xx': 200, '4xx': 400, '5xx': 503 };
const WORDS = { ok: [200, 'ok'], busy: [429, 'retry'], refused: [400, 'failed'] } as const;

/**
 * Returns the wire of the downstream that a handler in JSON describes: what its templates send is
 * read, and its paths and statuses say how to answer.
 */
export function wireOf({ config, response, answers, keyHeader, hasTarget, limits }: WirePlan): HttpWire {
  const isById = member(member(config, 'idempotency'), 'by') === 'task';
  const statuses = new Map(
    (Object.keys(STATUSES) as Refusal[]).flatMap((refusal) => {
      const [verdict, all] = STATUSES[refusal];
      const found = all.find((status) => verdictOf(status, answers, hasTarget).verdict === verdict);
      return found === undefined ? [] : [[refusal, found] as const];
    }),
  );
  return {
    maxItems: limits.maxItems,
    maxBytes: limits.maxBytes,
    verdicts: verdictsOf(response),
    shapes: shapesOf(response),
    refusals: [...statuses.keys()],
    read: ({ headers, body }) => {
      const header = keyHeader === undefined ? undefined : headers[keyHeader];
      const items = itemsIn(config, body).map((item, place): WireItem => {
        const mark = markIn(JSON.stringify(item));
        const ofBatch = typeof header === 'string' ? `${header}/${place}` : undefined;
        return { mark, key: isById ? mark : ofBatch };
      });
      return { kind: 'call', items, bytes: body.length };
    },
    answer: (items) => answerOf(response, config, items),
    refuse: (refusal) => json(statuses.get(refusal)!, { error: 'told so' }),
  };
}

const json = (status: number, value: unknown): WireAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

function verdictsOf({ perItem, status, error }: ResponsePlan): Verdict[] {
  if (!perItem) return [];
  if (status !== undefined) return ['busy', 'refused', 'omitted'];
  return error === undefined ? ['omitted'] : ['refused', 'omitted'];
}

function shapesOf({ perItem, matchBy }: ResponsePlan): Shape[] {
  if (!perItem) return [];
  return matchBy === 'id' ? ['reversed', 'twice', 'foreign'] : ['twice', 'foreign'];
}

/** Returns the items of a body, as the templates of the request put them there. */
function itemsIn(config: unknown, body: Buffer): unknown[] {
  const request = member(config, 'request');
  const item = member(request, 'item');
  if (member(request, 'encode') === 'ndjson') {
    const lines = body.toString().trimEnd().split('\n');
    const each = Array.isArray(item) ? item.length : 1;
    return Array.from({ length: lines.length / each }, (_, at) => lines.slice(at * each, (at + 1) * each));
  }
  const found = find(member(request, 'envelope') ?? '{{items}}', JSON.parse(body.toString()));
  if (found === undefined) throw new Error('expected the items at {{items}} of request.envelope, got none');
  return found;
}

/** Walks the envelope and the body side by side, to where the envelope has `{{items}}`. */
function find(envelope: unknown, value: unknown): unknown[] | undefined {
  if (typeof envelope === 'string') return /^\{\{\s*items\s*\}\}$/.test(envelope) ? (value as unknown[]) : undefined;
  if (typeof envelope !== 'object' || envelope === null) return undefined;
  for (const [key, inner] of Object.entries(envelope)) {
    const found = find(inner, member(value, key));
    if (found !== undefined) return found;
  }
  return undefined;
}

function answerOf(response: ResponsePlan, config: unknown, items: readonly JudgedItem[]): WireAnswer {
  if (!response.perItem) return json(200, {});
  const told = items.filter(({ verdict }) => verdict !== 'omitted').map((item) => resultOf(response, config, item));
  if (response.decode === 'json') return json(200, placed(response.results, told));
  return { status: 200, body: told.map((one) => `${JSON.stringify(one)}\n`).join('') };
}

function resultOf({ matchBy, id, status, error }: ResponsePlan, config: unknown, item: JudgedItem): unknown {
  const { verdict, mark } = item;
  let result: unknown = {};
  if (matchBy === 'id') result = placed(id, `certify ${mark}`, result);
  if (status?.path !== undefined && verdict !== 'omitted')
    result = placed(status.path, statusFor(verdict, config), result);
  if (error !== undefined && verdict !== 'ok') result = placed(error, `told so: ${verdict}`, result);
  return result;
}

/** Returns the first status of the handler's own table for a verdict, else the one of HTTP. */
function statusFor(verdict: keyof typeof WORDS, config: unknown): unknown {
  const [common, name] = WORDS[verdict];
  const listed = member(member(member(config, 'response'), 'status'), name);
  const first: unknown = Array.isArray(listed) ? listed[0] : undefined;
  return first === undefined ? common : (OF_CLASS[String(first).toLowerCase()] ?? first);
}

/** Returns `into` with a value at a path; `*` is any name. */
function placed(path: Path, value: unknown, into: unknown = {}): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const name = String(key);
  return { ...(into as object), [name]: placed(rest, value, member(into, name) ?? {}) };
}
