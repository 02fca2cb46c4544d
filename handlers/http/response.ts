import type { Findings } from '../configError';
import { describeThrown, show } from '../text';
import type { ItemResult, ItemStatus } from '../contract';
import { ITEM_STATUSES } from '../contract';
import type { Conditions } from './cel/conditions';
import { compileConditions } from './cel/conditions';
import { celIn, OF_ITEM } from './cel/expression';
import type { Path } from './path';
import { isBad, member, parsePath, readPath } from './path';
import type { StatusTable } from './patterns';
import { compileTable } from './patterns';
import { asText } from './template';

/** How an item's status is found: by conditions first, then by what stands at a path. */
interface StatusPlan {
  readonly conditions?: Conditions<ItemStatus>;
  /** Undefined: by conditions alone. */
  readonly path?: Path;
  readonly table: StatusTable<ItemStatus>;
  readonly otherwise?: ItemStatus;
}

/** The compiled settings by which results are read from an answer. */
export interface ResponsePlan {
  readonly perItem: boolean;
  readonly decode: 'json' | 'ndjson';
  readonly results: Path;
  readonly matchBy: 'id' | 'position';
  readonly id: Path;
  readonly status?: StatusPlan;
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
  return {
    perItem,
    decode,
    results,
    matchBy: matchBy === 'position' ? 'position' : 'id',
    id: answerPath(raw, 'id', at, findings) ?? ['id'],
    status: compileStatus(member(raw, 'status'), `${at}.status`, findings),
    error: answerPath(raw, 'error', at, findings),
    result: member(raw, 'result') === false ? null : (answerPath(raw, 'result', at, findings) ?? []),
  };
}

function compileStatus(raw: unknown, at: string, findings: Findings): StatusPlan | undefined {
  const conditions = compileConditions(raw, ITEM_STATUSES, at, OF_ITEM, findings);
  const path = answerPath(raw, 'path', at, findings);
  checkPath(raw, 'path', at, raw, findings);
  if (path === undefined && conditions === undefined) return undefined;
  const otherwise = member(raw, 'otherwise') as ItemStatus | undefined;
  return { conditions, path, otherwise, table: compileTable(raw, ITEM_STATUSES, at, findings) };
}

/** Reports a path that is missing: it may be left out only where conditions alone are written. */
export function checkPath(raw: unknown, key: string, at: string, table: unknown, findings: Findings): void {
  if (raw === undefined || member(raw, key) !== undefined) return;
  const entries = Object.entries(table ?? {}).filter(([name]) => name !== 'otherwise');
  if (entries.length > 0 && entries.every(([, entry]) => celIn(entry) !== undefined)) return;
  findings.add(`${at}.${key}`, 'expected a path such as customer.id or /customer/id, got nothing');
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
  const { conditions, path, table, otherwise } = plan.status;
  try {
    const met = conditions?.find({ item: element });
    if (met !== undefined) return { status: met, said: `the condition of ${met}` };
  } catch (error) {
    return { status: 'unknown', said: `${describeThrown(error)} of ${show(element)}` };
  }
  if (path === undefined) return { status: otherwise ?? 'unknown', said: `no condition holds of ${show(element)}` };
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
