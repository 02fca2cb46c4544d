import type { Findings } from '../configError';
import type { Env } from '../environment/variable';
import { show } from '../text';
import type { Conditions } from './cel/conditions';
import { compileConditions } from './cel/conditions';
import { celIn, OF_ANSWER } from './cel/expression';
import type { Headers } from './headers';
import { compileHeaders } from './headers';
import type { Path } from './path';
import { member } from './path';
import type { StatusTable } from './patterns';
import { compileTable } from './patterns';
import type { ResponsePlan } from './response';
import { answerPath, checkPath, compileResponse } from './response';
import type { UrlTemplate } from './urlTemplate';
import { compileUrl } from './urlTemplate';

/** A compiled call that follows after a batch was accepted, or after its outcome was lost. */
export interface FollowUp {
  readonly url: UrlTemplate;
  readonly headers: Headers;
  readonly method: string;
}
type PollStatus = 'pending' | 'done' | 'expired' | 'failed' | 'lost';
type LookUpStatus = 'done' | 'accepted' | 'absent' | 'unsure';

/** How an answer says a status: by conditions first, then by what stands at a path. */
export interface Asked<N extends string> {
  readonly conditions?: Conditions<N>;
  readonly path?: Path;
  readonly table: StatusTable<N>;
}

export interface FollowUps {
  readonly accepted?: { readonly status: number; readonly reference: Path };
  readonly status?: FollowUp & Asked<PollStatus> & { readonly error?: Path };
  readonly results?: FollowUp & { readonly response: ResponsePlan };
  readonly cancel?: FollowUp;
  readonly reconcile?: FollowUp &
    Asked<LookUpStatus> & {
      readonly absent: StatusTable<'absent'>;
      readonly reference?: Path;
      readonly response: ResponsePlan;
    };
}

/** Status names of known batch APIs. The setting `statuses` adds to them, and takes precedence. */
const POLL_NAMES: Record<PollStatus, string[]> = {
  pending: [
    'pending',
    'queued',
    'validating',
    'created',
    'accepted',
    'in_progress',
    'in-progress',
    'running',
    'processing',
    'finalizing',
    'cancelling',
    'canceling',
  ],
  done: ['done', 'completed', 'complete', 'succeeded', 'success', 'finished', 'ended'],
  expired: ['expired'],
  failed: ['failed', 'error', 'cancelled', 'canceled'],
  lost: ['lost', 'not_found', 'unknown'],
};
const LOOK_UP_NAMES: Record<LookUpStatus, string[]> = {
  done: ['done', 'completed', 'complete', 'succeeded', 'success', 'finished'],
  accepted: ['accepted', 'pending', 'queued', 'in_progress', 'in-progress', 'running', 'processing'],
  absent: ['absent', 'not_found'],
  unsure: ['unsure', 'unknown'],
};

function tableWithDefaults<N extends string>(
  raw: unknown,
  defaults: Record<N, string[]>,
  at: string,
  findings: Findings,
): StatusTable<N> {
  const names = Object.keys(defaults) as N[];
  const chosen = compileTable(raw, names, at, findings);
  const usual = compileTable(defaults, names, at, findings);
  return { find: (status) => chosen.find(status) ?? usual.find(status.toLowerCase()) };
}

export function compileFollowUps(
  config: unknown,
  response: ResponsePlan,
  headers: Headers,
  env: Env,
  findings: Findings,
): FollowUps {
  const followUp = (name: string, roots: readonly string[], method: string): FollowUp | undefined => {
    const raw = member(config, name);
    if (raw === undefined) return undefined;
    const own = compileHeaders(member(raw, 'headers'), env, `${name}.headers`, findings);
    const url = compileUrl(member(raw, 'url'), roots, `${name}.url`, findings);
    // A target does not identify a call, so the URL needs another value that does.
    const needed = roots.filter((root) => root !== 'target');
    if (url.text !== '' && !needed.some((root) => url.roots.has(root))) {
      findings.add(`${name}.url`, `expected {{${needed.join('}} or {{')}}} in it, got ${show(url.text)}`);
    }
    // The headers of the request are inherited, with its credentials but without its media type.
    const inherit = (all: Headers['sent']) =>
      Object.fromEntries(Object.entries(all).filter(([key]) => key !== 'content-type'));
    return {
      url,
      method: typeof member(raw, 'method') === 'string' ? (member(raw, 'method') as string) : method,
      headers: {
        sent: { ...inherit(headers.sent), ...own.sent },
        shown: { ...inherit(headers.shown), ...own.shown },
        secrets: [...headers.secrets, ...own.secrets],
      },
    };
  };
  const ownResponse = (name: string): ResponsePlan => {
    const raw = member(member(config, name), 'response');
    return raw === undefined ? response : compileResponse(raw, `${name}.response`, findings);
  };
  crossFollowUps(config, findings);
  const status = followUp('statusUrl', ['reference'], 'GET');
  const results = followUp('resultsUrl', ['reference'], 'GET');
  const reconcile = followUp('reconcileUrl', ['idempotencyKey', 'batchId', 'target'], 'GET');
  return {
    accepted: compileAccepted(config, findings),
    status: status && { ...status, ...compileStatus(member(config, 'statusUrl'), findings) },
    results: results && { ...results, response: ownResponse('resultsUrl') },
    cancel: followUp('cancelUrl', ['reference'], 'POST'),
    reconcile: reconcile && {
      ...reconcile,
      ...compileReconcile(member(config, 'reconcileUrl'), findings),
      response: ownResponse('reconcileUrl'),
    },
  };
}

function compileAccepted(config: unknown, findings: Findings): FollowUps['accepted'] {
  const raw = member(config, 'accepted');
  const reference = answerPath(raw, 'reference', 'accepted', findings);
  const status = member(raw, 'status');
  return reference && { status: typeof status === 'number' ? status : 202, reference };
}

function compileAsked<N extends string>(
  raw: unknown,
  defaults: Record<N, string[]>,
  at: string,
  findings: Findings,
): Asked<N> {
  const statuses = member(raw, 'statuses');
  const names = Object.keys(defaults) as N[];
  return {
    conditions: compileConditions(statuses, names, `${at}.statuses`, OF_ANSWER, findings),
    path: answerPath(raw, 'status', at, findings),
    table: tableWithDefaults(statuses, defaults, `${at}.statuses`, findings),
  };
}

function compileStatus(raw: unknown, findings: Findings) {
  const asked = compileAsked(raw, POLL_NAMES, 'statusUrl', findings);
  checkPath(raw, 'status', 'statusUrl', member(raw, 'statuses'), findings);
  return { ...asked, error: answerPath(raw, 'error', 'statusUrl', findings) };
}

function compileReconcile(raw: unknown, findings: Findings) {
  return {
    ...compileAsked(raw, LOOK_UP_NAMES, 'reconcileUrl', findings),
    absent: compileTable({ absent: member(raw, 'absent') ?? [404] }, ['absent'], 'reconcileUrl', findings),
    reference: answerPath(raw, 'reference', 'reconcileUrl', findings),
  };
}

/** Checks for settings that mean nothing without another one. */
function crossFollowUps(config: unknown, findings: Findings): void {
  const has = (name: string): boolean => member(config, name) !== undefined;
  if (has('statusUrl') && !has('resultsUrl'))
    findings.add(
      'statusUrl',
      'expected resultsUrl beside it, got nothing: an accepted batch that is done must be read',
    );
  if (has('statusUrl') && !has('accepted') && !has('reconcileUrl'))
    findings.add('statusUrl', 'expected accepted beside it, got nothing: no answer is ever taken for an acceptance');
  // `deadlineMs` alone is allowed: it limits the wait for a completion from outside.
  if (has('poll') && !has('statusUrl') && (!has('accepted') || member(member(config, 'poll'), 'everyMs') !== undefined))
    findings.add('poll', 'expected statusUrl beside it, got nothing: there is nothing to poll');
  if (has('cancelUrl') && !has('accepted'))
    findings.add('cancelUrl', 'expected accepted beside it, got nothing: only an accepted batch can be cancelled');
  if (has('absentAfterMs') && !has('reconcileUrl'))
    findings.add('absentAfterMs', 'expected reconcileUrl beside it, got nothing: nothing else can answer absent');
  const reconcileUrl = member(config, 'reconcileUrl');
  const lists = Object.values(member(reconcileUrl, 'statuses') ?? {}).filter((list) => celIn(list) === undefined);
  if (lists.length > 0 && member(reconcileUrl, 'status') === undefined) {
    findings.add(
      'reconcileUrl.statuses',
      'expected status (the path of the status in the answer) beside it, got nothing',
    );
  }
}
