import { problemsOf } from '../checks';
import type { Problem } from '../configError';
import { ConfigError, Findings } from '../configError';
import { fillContract, subjectOf } from '../contracts/defineContract';
import { defaultTimeoutMs, fillHandler } from '../contracts/implement';
import type { Env } from '../environment/variable';
import { crossProblems } from '../settings';
import type { Handler } from '../types';
import type { Batch } from '../contract';
import { compileConditions } from './cel/conditions';
import { OF_REFUSAL } from './cel/expression';
import type { Follower } from './follow';
import { cancel, reconcile, resultsOf, statuses } from './follow';
import type { FollowUps } from './followUps';
import { compileFollowUps } from './followUps';
import { member } from './path';
import { compileTable } from './patterns';
import type { PayloadPlan } from './payload';
import { compilePayload } from './payload';
import { compileRequest } from './request';
import { compileResponse } from './response';
import type { HttpHandlerConfig } from './schema';
import { httpSchema } from './schema';
import { VERDICTS } from './statusCodes';
import type { SubmitPlan } from './submit';
import { encodeCall, submit } from './submit';
import type { Template } from './template';
import { Transport } from './transport';
import { compileSample, trialOf } from './trial/trial';

/** Options of `httpHandler` besides the JSON. */
export interface HttpHandlerOptions {
  /**
   * The environment in which `{env: NAME}` is looked up; default: an empty one. The reader of the
   * config file passes in `process.env`.
   */
  readonly env?: Env;
}

interface Plan extends SubmitPlan {
  readonly payload: PayloadPlan;
  readonly followUps: FollowUps;
  readonly sample: Template | undefined;
}

const DEFAULT_CONNECT_MS = 10_000;
/**
 * Undici's default. It is shorter than the idle timeout of the servers that we know, so that a call
 * rarely uses a connection that is just being closed.
 */
const DEFAULT_KEEP_ALIVE_MS = 4_000;
const DEFAULT_MAX_RESPONSE_BYTES = 16_777_216;

/**
 * Compiles as much as possible of a configuration that may have any number of problems, and reports
 * the problems that it finds.
 */
function compile(config: unknown, env: Env): { plan: Plan; problems: Problem[] } {
  const findings = new Findings();
  const request = compileRequest(config, env, findings);
  const response = compileResponse(member(config, 'response'), 'response', findings);
  const followUps = compileFollowUps(config, response, request.headers, env, findings);
  crossDependencies(config, request.body.handsDependencies, findings);
  const refused = member(member(config, 'scopes'), 'refused') === 'handler' ? 'handler' : 'target';
  const maxBytes = member(member(config, 'limits'), 'maxBytes');
  const maxResponseBytes = member(config, 'maxResponseBytes');
  const plan: Plan = {
    request,
    response,
    followUps,
    payload: compilePayload(config, request.body.references, findings),
    sample: compileSample(config, request.body.references, findings),
    accepted: followUps.accepted,
    answers: compileTable(member(config, 'answers'), VERDICTS, 'answers', findings),
    conditions: compileConditions(member(config, 'answers'), VERDICTS, 'answers', OF_REFUSAL, findings),
    refused,
    maxBytes: typeof maxBytes === 'number' ? maxBytes : undefined,
    maxResponseBytes: typeof maxResponseBytes === 'number' ? maxResponseBytes : DEFAULT_MAX_RESPONSE_BYTES,
  };
  return { plan, problems: findings.problems };
}

/** A downstream keeps only what it is told of; only what it accepts is handed over early. */
function crossDependencies(config: unknown, isHanded: boolean, findings: Findings): void {
  const isDownstream = member(member(config, 'lane'), 'dependencies') === 'downstream';
  if (isDownstream && !isHanded)
    findings.add(
      'request.envelope',
      "expected {{dependsOn}} in it with lane.dependencies 'downstream', got none: " +
        'the downstream would not know what a batch depends on',
    );
  if (isDownstream && member(config, 'accepted') === undefined)
    findings.add(
      'lane.dependencies',
      "expected accepted beside 'downstream', got nothing: what is answered at once is never waited for",
    );
  if (isHanded && !isDownstream)
    findings.add(
      'request.envelope',
      "expected lane.dependencies 'downstream' with {{dependsOn}}, got 'held': " +
        'what a batch depends on is applied before it is sent',
    );
}

/** Removes duplicate problems: a text may contain the same mistake twice. */
function distinct(problems: readonly Problem[]): Problem[] {
  const paths = new Set<string>();
  return problems.filter(({ path, message }) => {
    const key = `${path}\n${message}`;
    if (paths.has(key)) return false;
    paths.add(key);
    return true;
  });
}

/**
 * Creates a handler from JSON alone, with templates for the request, paths for the answer, and
 * secrets from `options.env`. Throws one `ConfigError` that lists all problems.
 * docs/handlers/http-json.md documents the settings, whose type is `HttpHandlerConfig`.
 */
export function httpHandler(json: unknown, options: HttpHandlerOptions = {}): Handler {
  const { plan, problems: own } = compile(json, options.env ?? {});
  const problems = distinct([...problemsOf(httpSchema, json), ...crossProblems(json), ...own]);
  if (problems.length > 0) throw new ConfigError(subjectOf(json), problems);
  return build(json as HttpHandlerConfig, plan, options);
}

function build(config: HttpHandlerConfig, plan: Plan, options: HttpHandlerOptions): Handler {
  const { payload, request, followUps } = plan;
  const isOrdered = config.lane !== undefined || config.service !== undefined;
  const timeoutMs = config.timeoutMs ?? defaultTimeoutMs(isOrdered);
  const transport = new Transport({
    connections: config.concurrency?.perHandler ?? 32,
    connectMs: Math.min(config.timeouts?.connectMs ?? DEFAULT_CONNECT_MS, timeoutMs),
    keepAliveMs: config.timeouts?.keepAliveMs ?? DEFAULT_KEEP_ALIVE_MS,
    unreachable: config.scopes?.unreachable ?? plan.refused,
  });
  const follower: Follower = { transport, timeoutMs, maxResponseBytes: plan.maxResponseBytes };
  const { status, results, cancel: stop, reconcile: look } = followUps;
  const contract = fillContract({
    name: config.name,
    description: config.description,
    lane: config.lane,
    service: payload.order.service,
    reads: payload.order.reads,
    writes: payload.order.writes,
    leaders: config.leaders,
    affinity: config.affinity,
    maxQueued: config.maxQueued,
    maxPayloadBytes: config.maxPayloadBytes,
    payloadVersion: config.payloadVersion,
    limits: { ...config.limits, overheadBytes: config.limits.overheadBytes ?? request.body.overheadBytes },
    schema: payload.schema,
    target: payload.target,
    weightOf: payload.weightOf,
    distinctBy: payload.distinctBy,
    coalesceBy: payload.coalesceBy,
    bytesOf: (value, id) => request.body.bytesOf(value, id, payload.target(value)),
  });
  return fillHandler(
    contract,
    {
      linger: config.linger,
      concurrency: config.concurrency,
      sharesLimit: config.sharesLimit,
      rate: config.rate,
      retry: config.retry,
      timeoutMs,
      idempotency: config.idempotency,
      onUnknown: config.onUnknown,
      bisect: config.bisect,
      absentAfterMs: config.absentAfterMs,
      poll: config.poll,
      retentionMs: config.retentionMs,
      submit: (batch, context) => submit(plan, transport, batch, context),
      status: status && ((references, { signal }) => statuses(follower, status, references, signal)),
      results: results && ((reference, { signal }) => resultsOf(follower, results, reference, signal)),
      cancel: stop && ((reference, { signal }) => cancel(follower, stop, reference, signal)),
      reconcile: look && ((batch, context) => reconcile(follower, look, batch, context)),
      trial: trialFor(config, plan, options),
    },
    (batch) => preview(plan, batch),
  );
}

/** Returns the trial of a handler that has a sample. */
function trialFor(config: HttpHandlerConfig, plan: Plan, options: HttpHandlerOptions): Handler['trial'] {
  const { sample, response, answers, request } = plan;
  if (sample === undefined) return undefined;
  const { keyHeader, url } = request;
  const limits = { overheadBytes: 0, minItems: 1, maxWeightInFlight: {}, ...config.limits } as Handler['limits'];
  const wire = { config, response, answers, keyHeader, hasTarget: url.roots.has('target'), limits };
  return () => trialOf(sample, wire, (moved) => httpHandler(moved, options));
}

const CALLBACK_PLACEHOLDER = '<callback URL>';

/**
 * Returns the call that would be made, without secrets, and with placeholders for the idempotency
 * key and the callback URL.
 */
function preview(plan: SubmitPlan, batch: Batch): ReturnType<NonNullable<Handler['preview']>> {
  const placeholder = '<idempotency key>';
  const { headers, keyHeader, callbackHeader } = plan.request;
  const key = keyHeader === undefined ? {} : { [keyHeader]: placeholder };
  const callback = callbackHeader === undefined ? {} : { [callbackHeader]: CALLBACK_PLACEHOLDER };
  const call = encodeCall(plan, batch, placeholder, CALLBACK_PLACEHOLDER);
  return { ...call, headers: { ...headers.shown, ...key, ...callback } };
}
