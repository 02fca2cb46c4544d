import type { ErrorCode } from '../../workflows/planning/errorCodes';
import { isEnvelope, RESERVED_FORM } from '../../handlers/codec/envelope';
import { jsonBytes } from '../../handlers/contracts/defineContract';
import { AsyncSchema, parsePayload } from '../../handlers/contracts/schema';
import type { Parsed } from '../../handlers/contracts/schema';
import type { Contract } from '../../handlers/types';
import { didYouMean } from '../../handlers/suggest';
import { cutText, show } from '../../handlers/text';
import { depthOf, MAX_JSON_DEPTH } from '../../workflows/planning/jsonText';
import { callbackFault, storedCallback } from '../../workflows/planning/callbacks/address';
import { COALESCE_PREFIX } from '../../workflows/planning/grouping/coalescing';
import type { OnDependencyFailure } from '../../workflows/planning/grouping/dependencies';
import type { Labels } from '../../postgres/grouping/labels';
import { AsyncSchemaError } from '../errors';
import type { TaskProblem } from '../errors';
import { checkDependsOn } from './checkDependsOn';
import { checkPriority, checkTaskTime, describe } from './describe';
import type { Reject } from './describe';
import { checkLabels } from './labels/check';
import { NOT_PLAIN, plainCopy } from './calls/plainCopy';

/** A task as a caller submits it. */
export interface TaskInput<P = unknown> {
  /** Globally unique text of 1-256 bytes. The same id with the same content is the same task. */
  id: string;
  /** JSON that the handler's schema accepts; at most `maxPayloadBytes`, 100 levels deep. */
  payload: P;
  /**
   * The task joins no batch before this time: ISO text, a Date or Unix milliseconds. Default: at
   * once. Not in a lane.
   */
  notBefore?: string | number | Date;
  /**
   * A task that is still waiting at this time, in no batch, fails with an error that begins with
   * `Expired`: ISO text, a Date or Unix milliseconds. Default: never. Not in a lane.
   */
  expiresAt?: string | number | Date;
  /** A lower number goes first within a target: -32768..32767, default 0. Not in a lane. */
  priority?: number;
  /** The receiver of a message about the task's end; default: none. */
  callback?: Callback;
  /**
   * Ids of at most 100 tasks that must have succeeded before this task joins a batch: tasks of the
   * same call, in any order, or tasks of any handler that were accepted before. Not for a task in a
   * lane.
   */
  dependsOn?: readonly string[];
  /**
   * What happens if a dependency fails, dies or is cancelled: the task fails too (`fail`, the
   * default), or it runs once all dependencies have ended (`run`).
   */
  onDependencyFailure?: OnDependencyFailure;
  /**
   * At most 10 texts of 1-100 bytes by which lists and bulk actions find the task. They are stored
   * as they are, never encoded.
   */
  tags?: readonly string[];
  /** Texts by name, at most 4,096 bytes of JSON, which are shown with the task. */
  metadata?: Readonly<Record<string, string>>;
}

/**
 * The receiver of a message about an end, delivered at least once: a signed webhook to a host that
 * the workers allow (a URL of at most 2,000 bytes), or a workflow that gets a signal
 * (`musterTasksEnded`, unless `signal` names another one). Ids and names have at most 1,000
 * bytes each, 2,500 together.
 */
export type Callback = { url: string } | { workflowId: string; runId?: string; signal?: string };

/** The fields of a task. The library, the command line and the HTTP API refuse any other field. */
export const TASK_FIELDS: readonly string[] = [
  ...['id', 'payload', 'notBefore', 'expiresAt', 'priority', 'callback'],
  ...['dependsOn', 'onDependencyFailure', 'tags', 'metadata'],
];

/** A task that passed every check, with the values that its handler computed from the payload. */
export interface CheckedTask {
  index: number;
  id: string;
  payload: string;
  target: string;
  bytes: number;
  weight: number | null;
  key: string | null;
  priority: number;
  notBeforeMs: number | null;
  expiresAtMs: number | null;
  callback: Callback | null;
  dependsOn: readonly string[];
  /** The task runs even if a dependency did not succeed. */
  runsAnyway: boolean;
  /** Null: it has none. */
  labels: Labels | null;
}

export const MAX_ID_BYTES = 256;
const MAX_TARGET_BYTES = 512;
const MAX_KEY_BYTES = 512;

/**
 * Checks one task against its handler before anything is stored, and adds every problem to
 * `problems`. Null: the task cannot be accepted.
 */
export const checkTask = (
  handler: Contract,
  task: unknown,
  index: number,
  problems: TaskProblem[],
): CheckedTask | null => {
  const before = problems.length;
  const given = (typeof task === 'object' && task !== null ? task : {}) as Partial<TaskInput>;
  const id = typeof given.id === 'string' ? given.id : undefined;
  const reject: Reject = (field, code, message) =>
    void problems.push({ index, ...(id === undefined ? {} : { id }), field, code, message });
  if (typeof task !== 'object' || task === null)
    reject('task', 'INVALID_TASK', `expected an object {id, payload}, got ${describe(task)}`);
  checkText('id', 'INVALID_ID', given.id, MAX_ID_BYTES, reject);
  refuseUnknownFields(given, reject);
  if (handler.ordered) refuseOrderings(given, reject);
  const parsed = parse(handler, given.payload, reject);
  if (parsed === null) return null;
  if ('issues' in parsed) {
    for (const { path, message } of parsed.issues.slice(0, 10))
      reject(cutText(['payload', ...path].join('.')), 'INVALID_PAYLOAD', cutText(message)); // a path may be long
    return null;
  }
  const copy = plainCopy(parsed.value);
  const payload = jsonOf(copy === NOT_PLAIN ? (parsed.value ?? null) : copy, reject);
  if (payload === null) return null;
  const size = Buffer.byteLength(payload);
  if (size > handler.maxPayloadBytes)
    reject(
      'payload',
      'PAYLOAD_TOO_LARGE',
      `expected at most ${handler.maxPayloadBytes} bytes of JSON, got ${size}. Store it elsewhere and submit a reference, or raise maxPayloadBytes.`,
    );
  const content: unknown = copy === NOT_PLAIN ? JSON.parse(payload) : copy; // what is stored
  const target = compute(() => handler.target(content), 'target', reject);
  if (target !== FAILED)
    checkText('target', 'INVALID_TARGET', target, MAX_TARGET_BYTES, reject, 'computed by the handler from the payload');
  const key = keyOf(handler, content, reject);
  // The default `bytesOf` would count the same again, in a fifth of this check's time.
  const bytes =
    handler.bytesOf === jsonBytes ? size : compute(() => handler.bytesOf(content, id ?? ''), 'bytesOf', reject);
  const weight = compute(() => handler.weightOf(content), 'weightOf', reject);
  if (bytes !== FAILED && weight !== FAILED) checkSize(handler, bytes, weight, reject);
  const priority = checkPriority(given.priority, reject);
  const notBeforeMs = checkTaskTime('notBefore', given.notBefore, reject);
  const expiresAtMs = checkTaskTime('expiresAt', given.expiresAt, reject);
  const callback = checkCallback(given.callback, reject);
  const dependsOn = checkDependsOn(handler, given, reject);
  const labels = checkLabels(given, reject);
  if (problems.length > before) return null;
  return {
    index,
    id: given.id!,
    payload,
    target: target as string,
    bytes: bytes as number,
    weight: weight === 1 ? null : (weight as number),
    key: key as string | null,
    priority,
    notBeforeMs,
    expiresAtMs,
    callback,
    dependsOn,
    runsAnyway: given.onDependencyFailure === 'run',
    labels,
  };
};

const refuseUnknownFields = (given: object, reject: Reject): void => {
  for (const field in given)
    if (!TASK_FIELDS.includes(field))
      reject(
        field,
        'UNKNOWN_FIELD',
        `expected only ${TASK_FIELDS.join(', ')}, got ${show(field, 80)}${didYouMean(field, TASK_FIELDS)}`,
      );
};

/**
 * Parses the payload by the handler's schema. Null: the schema threw an error, which was reported.
 */
const parse = (handler: Contract, payload: unknown, reject: Reject): Parsed | null => {
  try {
    return parsePayload(handler.schema, payload);
  } catch (error) {
    if (error instanceof AsyncSchema) throw new AsyncSchemaError(handler.name, error);
    reject('payload', 'INVALID_PAYLOAD', `the handler's schema threw on this payload: ${reasonOf(error)}`);
    return null;
  }
};

const TOO_DEEP = `expected at most ${MAX_JSON_DEPTH} levels of arrays and objects. Flatten it, or submit the deep part as text.`;

/** Returns the payload as JSON text. Null: it cannot be stored, and the reason was reported. */
const jsonOf = (payload: unknown, reject: Reject): string | null => {
  let text: string;
  try {
    text = JSON.stringify(payload) ?? 'null';
  } catch (error) {
    // A value that is nested thousands of levels deep exhausts the stack of `JSON.stringify`.
    const message =
      error instanceof RangeError ? TOO_DEEP : `expected a value that can be written as JSON: ${reasonOf(error)}`;
    reject('payload', 'INVALID_PAYLOAD', message);
    return null;
  }
  if (depthOf(text) <= MAX_JSON_DEPTH && !isEnvelope(text)) return text;
  reject('payload', 'INVALID_PAYLOAD', isEnvelope(text) ? RESERVED_FORM : TOO_DEEP);
  return null;
};

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : show(error));

/** Refuses what would change the order of a lane, which is that of submission. */
const refuseOrderings = ({ priority, notBefore, expiresAt }: Partial<TaskInput>, reject: Reject): void => {
  const refuse = (field: string, value: unknown): void =>
    reject(
      field,
      'INVALID_ORDERING',
      `expected no ${field} in a lane, got ${describe(value)}: a lane sends its tasks in the order of submission`,
    );
  if (priority !== undefined && priority !== 0) refuse('priority', priority);
  if (notBefore !== undefined && notBefore !== null) refuse('notBefore', notBefore);
  if (expiresAt !== undefined && expiresAt !== null) refuse('expiresAt', expiresAt);
};

const FAILED = Symbol('failed');
const compute = <T>(work: () => T, field: string, reject: Reject): T | typeof FAILED => {
  try {
    return work();
  } catch (error) {
    reject(
      field,
      'INVALID_PAYLOAD',
      `the handler's ${field} function threw on this payload: ${error instanceof Error ? error.message : String(error)}`,
    );
    return FAILED;
  }
};

/** Returns the key of `distinctBy` or of `coalesceBy`; null: the handler has neither. */
const keyOf = (handler: Contract, content: unknown, reject: Reject): string | null | typeof FAILED => {
  const by = handler.distinctBy === undefined ? 'coalesceBy' : 'distinctBy';
  const key = handler[by] === undefined ? null : compute(() => handler[by]!(content), by, reject);
  if (key === null || key === FAILED) return key;
  checkText(by, 'INVALID_KEY', key, MAX_KEY_BYTES, reject, 'computed by the handler from the payload');
  return by === 'distinctBy' ? key : COALESCE_PREFIX + key;
};

type CheckText = (
  field: string,
  code: ErrorCode,
  value: unknown,
  maxBytes: number,
  reject: Reject,
  note?: string,
) => void;
const checkText: CheckText = (field, code, value, maxBytes, reject, note = '') => {
  const suffix = note === '' ? '' : ` (${note})`;
  if (value === undefined || value === null)
    return reject(field, code, `expected 1-${maxBytes} bytes of text, got nothing${suffix}`);
  if (typeof value !== 'string') return reject(field, code, `expected text, got ${describe(value)}${suffix}`);
  const size = Buffer.byteLength(value);
  if (size === 0 || size > maxBytes) return reject(field, code, `expected 1-${maxBytes} bytes, got ${size}${suffix}`);
  if (value.includes('\0'))
    return reject(field, code, `expected no NUL character, got one at place ${value.indexOf('\0')}${suffix}`);
  if (!value.isWellFormed())
    return reject(field, code, `expected well-formed Unicode, got half of a surrogate pair${suffix}`);
};

const checkSize = (handler: Contract, bytes: number, weight: number, reject: Reject): void => {
  const { maxBytes, overheadBytes, maxWeight, maxWeightInFlight } = handler.limits;
  if (!Number.isSafeInteger(bytes) || bytes < 0 || bytes > 2_147_483_647)
    return reject('bytesOf', 'INVALID_PAYLOAD', `expected a whole number of bytes, got ${bytes}`);
  if (!Number.isFinite(weight) || weight < 0)
    return reject('weightOf', 'INVALID_PAYLOAD', `expected a number of at least 0, got ${weight}`);
  if (maxBytes !== undefined && bytes + overheadBytes > maxBytes)
    return reject(
      'payload',
      'TASK_TOO_LARGE',
      `expected a task that fits into one call of ${maxBytes} bytes, got ${bytes} + ${overheadBytes} overhead`,
    );
  const heaviest = Math.min(
    maxWeight ?? Infinity,
    maxWeightInFlight.perTarget ?? Infinity,
    maxWeightInFlight.perHandler ?? Infinity,
  );
  if (weight > heaviest) reject('payload', 'TASK_TOO_HEAVY', `expected a weight of at most ${heaviest}, got ${weight}`);
};

export const checkCallback = (value: unknown, reject: Reject): Callback | null => {
  if (value === undefined || value === null) return null;
  const fault = callbackFault(value);
  if (fault === null) return storedCallback(value) as Callback;
  const { field, expected, got } = fault;
  reject(`callback${field && `.${field}`}`, 'INVALID_CALLBACK', `expected ${expected}, got ${describe(got)}`);
  return null;
};
