import type { Findings } from '../configError';
import { show } from '../text';
import type { ItemResult, ItemStatus } from '../contract';
import { ITEM_STATUSES } from '../contract';
import type { Path } from './path';
import { isBad, member, parsePath, readPath } from './path';
import type { StatusTable } from './patterns';
import { compileTable } from './patterns';
import { asText } from './template';

/** The compiled settings by which results are read from an answer. */
export interface ResponsePlan {
  readonly perItem: boolean;
  readonly decode: 'json' | 'ndjson';
  readonly results: Path;
  readonly matchBy: 'id' | 'position';
  readonly id: Path;
  readonly status?: { readonly path: Path; readonly table: StatusTable<ItemStatus>; readonly otherwise?: ItemStatus };
  readonly error?: Path;
  /** Null: no result is kept. */
  readonly result: Path | null;
}

/** Compiles a path into an answer, in which `*` is allowed. The schema reports wrong types. */
export function answerPath(raw: unknown, key: string, at: string, findings: Findings): Path | undefined {
  const text = member(raw, key);
  if (typeof text !== 'string') return undefined;
  const path = parsePath(text, true);
  if (!isBad(path)) return path;
  findings.add(`${at}.${key}`, `${path.bad}; got ${show(text)}`);
  return undefined;
}

export function compileResponse(raw: unknown, at: string, findings: Findings): ResponsePlan {
  const perItem = member(raw, 'perItem') !== false;
  const matchBy = member(raw, 'matchBy');
  if (perItem && matchBy === undefined && typeof raw === 'object') {
    const whole = '{"perItem": false} where a 2xx means that every item succeeded';
    findings.add(
      `${at}.matchBy`,
      `expected 'id' or 'position', got nothing: results must be matched to tasks; or ${whole}`,
    );
  }
  const results = answerPath(raw, 'results', at, findings) ?? [];
  const decode = member(raw, 'decode') === 'ndjson' ? 'ndjson' : 'json';
  if (decode === 'ndjson' && results.length > 0)
    findings.add(`${at}.results`, "expected none with decode 'ndjson': each line is a result");
  const rawStatus = member(raw, 'status');
  const path = answerPath(rawStatus, 'path', `${at}.status`, findings);
  const otherwise = member(rawStatus, 'otherwise') as ItemStatus | undefined;
  const table = compileTable(rawStatus, ITEM_STATUSES, `${at}.status`, findings);
  return {
    perItem,
    decode,
    results,
    matchBy: matchBy === 'position' ? 'position' : 'id',
    id: answerPath(raw, 'id', at, findings) ?? ['id'],
    status: path === undefined ? undefined : { path, table, otherwise },
    error: answerPath(raw, 'error', at, findings),
    result: member(raw, 'result') === false ? null : (answerPath(raw, 'result', at, findings) ?? []),
  };
}

/**
 * Classifies an item's status that no table lists, by its meaning in HTTP. The one difference to a
 * whole call: after a 5xx for a call the work may have been done, while a 5xx for an item says that
 * it was not.
 */
function byHttpStatus(status: string): ItemStatus {
  if (!/^[2-5]\d\d$/.test(status)) return 'unknown';
  if (status === '429' || status.startsWith('5')) return 'retry';
  return status.startsWith('2') ? 'ok' : 'failed';
}

function verdictOf(plan: ResponsePlan, element: unknown): { status: ItemStatus; said: string } {
  if (plan.status === undefined) {
    const error = plan.error === undefined ? undefined : readPath(element, plan.error);
    const isError = error !== undefined && error !== null && error !== false && error !== '';
    return { status: isError ? 'failed' : 'ok', said: 'an error' };
  }
  const { path, table, otherwise } = plan.status;
  const value = readPath(element, path);
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
    return { status: otherwise ?? 'unknown', said: `no readable status at ${path.join('.')}: ${show(element)}` };
  }
  const text = String(value);
  return { status: table.find(text) ?? otherwise ?? byHttpStatus(text), said: `status ${text}` };
}

/** Converts one element of an answer into a result. `place` is its index among the results. */
export function itemResult(plan: ResponsePlan, element: unknown, place: number): ItemResult {
  const { status, said } = verdictOf(plan, element);
  const item: ItemResult = { status };
  if (plan.matchBy === 'position') item.index = place;
  else {
    const id = readPath(element, plan.id);
    if (typeof id === 'string' || typeof id === 'number') item.id = String(id);
    // Without an id, `readResults` finds the result unreadable and shows this.
    else return { status, error: `no id at ${plan.id.join('.')} of ${show(element)}` };
  }
  if (status !== 'ok') {
    const error = plan.error === undefined ? undefined : readPath(element, plan.error);
    item.error = error === undefined || error === null ? said : asText(error);
  }
  const result = plan.result === null ? undefined : readPath(element, plan.result);
  if (result !== undefined) item.result = result;
  return item;
}
