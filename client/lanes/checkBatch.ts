import type { Contract } from '../../handlers/types';
import {
  BATCH_ITEMS_MAX,
  BATCH_KEY_BYTES_MAX,
  DEPENDENCIES_MAX,
  SERVICE_BYTES_MAX,
  STATE_KEY_BYTES_MAX,
  STATE_KEYS_MAX,
} from '../../workflows/planning/lanes/limits';
import type { CheckedTask, TaskInput } from '../tasks/checkTasks';
import { checkTask } from '../tasks/checkTasks';
import { describe } from '../tasks/describe';
import type { TaskProblem } from '../errors';
import { InvalidArgumentError, InvalidTaskError, MusterError } from '../errors';

/** A lane batch as a caller submits it. */
export interface BatchInput<P = unknown> {
  /**
   * The service, 1-512 bytes: its batches are applied in the order in which they were submitted.
   */
  service: string;
  /**
   * 1 to 10,000 items, all of one target and within the handler's limits, in the order in which the
   * downstream must receive them.
   */
  items: readonly TaskInput<P>[];
  /**
   * State keys for the approach `parallel`, besides those that the handler computes from the items:
   * at most 1,000 of each kind (`STATE_KEYS_MAX`), of 1-256 bytes each. Default: none.
   */
  reads?: readonly string[];
  writes?: readonly string[];
  /**
   * At most 1,000 batches of any lane that must be committed before this one is sent
   * (`DEPENDENCIES_MAX`): their numbers, or keys from the same call. Default: none.
   */
  dependsOn?: readonly (number | string)[];
  /**
   * Name of this batch within the call, 1-256 bytes, for `dependsOn` of other batches. Default:
   * none.
   */
  key?: string;
}

export interface CheckedBatch {
  service: string;
  target: string;
  tasks: CheckedTask[];
  reads: string[];
  writes: string[];
  dependsOn: readonly (number | string)[];
  key: string | null;
}

/**
 * Checks every item by the handler's schema and limits, then the batch as a whole. `at` names the
 * batch in messages.
 */
export const checkBatch = (handler: Contract, input: BatchInput, at = 'batch'): CheckedBatch => {
  const { service, items, key, dependsOn = [] } = input;
  if (!handler.ordered)
    throw new InvalidArgumentError(
      'handler',
      'an ordered handler, with `lane` (may be empty) or `service`',
      handler.name,
      'Otherwise single tasks could overtake the batch.',
    );
  checkText(`${at}.service`, service, SERVICE_BYTES_MAX);
  if (key !== undefined) checkText(`${at}.key`, key, BATCH_KEY_BYTES_MAX);
  if (!Array.isArray(items) || items.length === 0 || items.length > BATCH_ITEMS_MAX)
    throw new InvalidArgumentError(
      `${at}.items`,
      `an array of 1 to ${BATCH_ITEMS_MAX} tasks`,
      Array.isArray(items) ? items.length : items,
    );
  const problems: TaskProblem[] = [];
  const tasks = items.flatMap((item, index) => {
    const task = checkTask(handler, item, index, problems);
    return task === null ? [] : [task];
  });
  checkTwins(tasks, problems);
  checkDistinct(tasks, problems);
  if (problems.length > 0) throw new InvalidTaskError(problems);
  const target = oneTarget(tasks, at);
  for (const { payload } of handler.service === undefined ? [] : tasks)
    checkService(handler, target, JSON.parse(payload), service, at);
  checkLimits(handler, tasks, at);
  if (!Array.isArray(dependsOn) || dependsOn.length > DEPENDENCIES_MAX)
    throw new InvalidArgumentError(
      `${at}.dependsOn`,
      `an array of at most ${DEPENDENCIES_MAX} batch ids or keys`,
      Array.isArray(dependsOn) ? dependsOn.length : dependsOn,
    );
  for (const one of dependsOn)
    if (typeof one !== 'string' && !(Number.isSafeInteger(one) && one > 0))
      throw new InvalidArgumentError(`${at}.dependsOn`, 'ids of batches, or keys of this call', one);
  return {
    service,
    target,
    tasks,
    ...setsOf(handler, input, tasks, at),
    dependsOn: [...new Set(dependsOn)],
    key: key ?? null,
  };
};

const checkTwins = (tasks: readonly CheckedTask[], problems: TaskProblem[]): void => {
  const seen = new Map<string, number>();
  for (const { id, index } of tasks) {
    const twin = seen.get(id);
    if (twin !== undefined)
      problems.push({
        index,
        id,
        field: 'id',
        code: 'ID_CONFLICT',
        message: `expected unique ids within a batch, but item ${twin} has the same one`,
      });
    seen.set(id, index);
  }
};

/**
 * Checks that no two items of a batch have the same `distinctBy` key. (Two batches with the same
 * key are kept apart by `withDistinctKeys`.)
 */
const checkDistinct = (tasks: readonly CheckedTask[], problems: TaskProblem[]): void => {
  const seen = new Map<string, number>();
  for (const { id, index, key } of tasks) {
    const twin = key === null ? undefined : seen.get(key);
    if (twin !== undefined)
      problems.push({
        index,
        id,
        field: 'distinctBy',
        code: 'KEY_CONFLICT',
        message: `expected unique keys within a batch, but item ${twin} also has ${describe(key)}; submit it in a separate batch after this one`,
      });
    if (key !== null) seen.set(key, index);
  }
};

const oneTarget = (tasks: readonly CheckedTask[], at: string): string => {
  const { target } = tasks[0]!;
  const other = tasks.find((task) => task.target !== target);
  if (other !== undefined)
    throw new InvalidArgumentError(
      `${at}.items`,
      `items of one target (item 0: ${describe(target)})`,
      `${other.target} (item ${other.index})`,
      'Submit one batch per target.',
    );
  return target;
};

const checkService = (handler: Contract, target: string, payload: unknown, service: string, at: string): void => {
  const expected = handler.service!(target, payload);
  if (expected !== service)
    throw new InvalidArgumentError(
      `${at}.service`,
      `${describe(expected)}, the service that handler "${handler.name}" defines for target ${describe(target)}`,
      service,
    );
};

const checkLimits = (handler: Contract, tasks: readonly CheckedTask[], at: string): void => {
  const { maxItems, maxBytes, overheadBytes, maxWeight, maxWeightInFlight } = handler.limits;
  const tooLarge = (what: string, limit: number, got: number): never => {
    throw new MusterError(
      'BATCH_TOO_LARGE',
      `${at}.items: expected at most ${limit} ${what}, the limit of handler "${handler.name}", got ${got}. Nothing was accepted; split the batch: the parts keep their order.`,
    );
  };
  if (tasks.length > maxItems) tooLarge('items', maxItems, tasks.length);
  const bytes = tasks.reduce((sum, task) => sum + task.bytes, overheadBytes);
  if (maxBytes !== undefined && bytes > maxBytes) tooLarge('bytes', maxBytes, bytes);
  const weight = tasks.reduce((sum, task) => sum + (task.weight ?? 1), 0);
  if (maxWeight !== undefined && weight > maxWeight) tooLarge('units of weight', maxWeight, weight);
  const inFlight = Math.min(maxWeightInFlight.perTarget ?? Infinity, maxWeightInFlight.perHandler ?? Infinity);
  if (weight > inFlight) tooLarge('units of weight in flight', inFlight, weight);
};

/**
 * Returns the read and write sets of the batch: the declared ones, and those that the handler
 * computes from the items. If none were declared and some item has no keys, returns empty sets:
 * that item may touch anything.
 */
const setsOf = (
  handler: Contract,
  { reads, writes }: BatchInput,
  tasks: readonly CheckedTask[],
  at: string,
): { reads: string[]; writes: string[] } => {
  const keys = { reads: declared(`${at}.reads`, reads), writes: declared(`${at}.writes`, writes) };
  const isDeclared = keys.reads.size + keys.writes.size > 0;
  for (const { payload } of handler.reads === undefined && handler.writes === undefined ? [] : tasks) {
    const content: unknown = JSON.parse(payload);
    const [read, written] = [handler.reads?.(content) ?? [], handler.writes?.(content) ?? []];
    if (!isDeclared && read.length + written.length === 0) return { reads: [], writes: [] };
    for (const key of read) keys.reads.add(key);
    for (const key of written) keys.writes.add(key);
  }
  const sets = { reads: checkKeys(`${at}.reads`, keys.reads), writes: checkKeys(`${at}.writes`, keys.writes) };
  return withDistinctKeys(
    sets,
    tasks.map(({ key }) => key),
  );
};

const declared = (field: string, keys: readonly string[] | undefined): Set<string> => {
  if (keys !== undefined && !Array.isArray(keys)) throw new InvalidArgumentError(field, 'an array of state keys', keys);
  return new Set<string>(keys ?? []);
};

/**
 * Adds the batch's `distinctBy` keys to its writes, so that two batches with the same key are never
 * in flight together. A batch without sets conflicts with every other one anyway.
 */
export const withDistinctKeys = (
  { reads, writes }: { reads: string[]; writes: string[] },
  keys: readonly (string | null)[],
): { reads: string[]; writes: string[] } => {
  if (reads.length + writes.length === 0) return { reads, writes };
  const distinct = keys.flatMap((key) => (key === null ? [] : [`${DISTINCT}${key}`]));
  return { reads, writes: distinct.length === 0 ? writes : [...writes, ...new Set(distinct)].sort() };
};
const DISTINCT = 'distinctBy:';

export const checkKeys = (field: string, keys: ReadonlySet<string>): string[] => {
  if (keys.size > STATE_KEYS_MAX)
    throw new InvalidArgumentError(
      field,
      `at most ${STATE_KEYS_MAX} state keys`,
      keys.size,
      'Use coarser keys: an extra conflict only costs time.',
    );
  for (const key of keys) checkText(field, key, STATE_KEY_BYTES_MAX);
  return [...keys].sort();
};

const LONE_SURROGATE = /\p{Surrogate}/u;
export const checkText = (field: string, value: unknown, maxBytes: number): void => {
  if (typeof value !== 'string' || value === '' || value.includes('\0') || LONE_SURROGATE.test(value))
    throw new InvalidArgumentError(field, `1-${maxBytes} bytes of well-formed text without NUL`, value);
  const size = Buffer.byteLength(value);
  if (size > maxBytes) throw new InvalidArgumentError(field, `1-${maxBytes} bytes`, size);
};
