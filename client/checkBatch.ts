import type { Handler } from '../activities/handlers/types';
import type { CheckedTask, TaskInput } from './checkTasks';
import { checkTask, describe } from './checkTasks';
import type { TaskProblem } from './errors';
import { InvalidArgumentError, InvalidTaskError, MusterError } from './errors';

/** A batch for a lane, as a user gives it. */
export interface BatchInput<P = unknown> {
  /** What is ordered: its batches are applied in the order in which they were submitted (C1). 1-512 bytes. */
  service: string;
  /** In the order in which the downstream is to get them; 1 to 10,000, all of one target, within the handler's limits. */
  items: readonly TaskInput<P>[];
  /** State keys for approach `parallel` (C25), besides what the handler says of the items; at most 1,000 of each, 1-256 bytes. */
  reads?: readonly string[];
  writes?: readonly string[];
  /** Batches that must be committed before this one is sent, of any lane (C18): their ids, or keys of the same call. At most 1,000. */
  dependsOn?: readonly (number | string)[];
  /** Name of this batch within the call, for `dependsOn` of others. */
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

export const MAX_ITEMS = 10_000;
const MAX_KEYS = 1_000;
const MAX_KEY_BYTES = 256;
const MAX_DEPENDENCIES = 1_000;
const MAX_SERVICE_BYTES = 512;

/** Every item by the handler's schema and limits, then the batch as a whole. `at`: where it stands in the call, for messages. */
export const checkBatch = (handler: Handler, input: BatchInput, at = 'batch'): CheckedBatch => {
  const { service, items, key, dependsOn = [] } = input;
  checkText(`${at}.service`, service, MAX_SERVICE_BYTES);
  if (key !== undefined) checkText(`${at}.key`, key, MAX_KEY_BYTES);
  if (!Array.isArray(items) || items.length === 0 || items.length > MAX_ITEMS)
    throw new InvalidArgumentError(`${at}.items`, `an array of 1 to ${MAX_ITEMS} tasks`, Array.isArray(items) ? items.length : items); // prettier-ignore
  const problems: TaskProblem[] = [];
  const tasks = items.flatMap((item, index) => {
    const task = checkTask(handler, item, index, problems);
    refuseOrderings(item, index, problems);
    return task === null ? [] : [task];
  });
  checkTwins(tasks, problems);
  if (problems.length > 0) throw new InvalidTaskError(problems);
  const target = oneTarget(tasks, at);
  checkService(handler, target, service, at);
  checkLimits(handler, tasks, at);
  if (!Array.isArray(dependsOn) || dependsOn.length > MAX_DEPENDENCIES)
    throw new InvalidArgumentError(`${at}.dependsOn`, `an array of at most ${MAX_DEPENDENCIES} batch ids or keys`, dependsOn.length ?? dependsOn); // prettier-ignore
  for (const one of dependsOn)
    if (typeof one !== 'string' && !(Number.isSafeInteger(one) && one > 0))
      throw new InvalidArgumentError(`${at}.dependsOn`, 'ids of batches, or keys of this call', one);
  return {
    service,
    target,
    tasks,
    reads: unionOf(`${at}.reads`, input.reads, handler.reads, items),
    writes: unionOf(`${at}.writes`, input.writes, handler.writes, items),
    dependsOn: [...new Set(dependsOn)],
    key: key ?? null,
  };
};

/** In a lane the order of submission is the only one. */
export const refuseOrderings = (item: unknown, index: number, problems: TaskProblem[]): void => {
  const { id, priority, notBefore } = (typeof item === 'object' && item !== null ? item : {}) as Partial<TaskInput>;
  const refuse = (field: string, value: unknown): void =>
    void problems.push({
      index,
      ...(typeof id === 'string' ? { id } : {}),
      field,
      code: 'INVALID_ORDERING',
      message: `expected none in a lane, got ${describe(value)}: its tasks are sent in the order in which they were submitted`,
    });
  if (priority !== undefined && priority !== 0) refuse('priority', priority);
  if (notBefore !== undefined && notBefore !== null) refuse('notBefore', notBefore);
};

const checkTwins = (tasks: readonly CheckedTask[], problems: TaskProblem[]): void => {
  const seen = new Map<string, number>();
  for (const { id, index } of tasks) {
    const twin = seen.get(id);
    if (twin !== undefined)
      problems.push({ index, id, field: 'id', code: 'ID_CONFLICT', message: `expected ids that differ within a batch, but item ${twin} has it too` }); // prettier-ignore
    seen.set(id, index);
  }
};

const oneTarget = (tasks: readonly CheckedTask[], at: string): string => {
  const { target } = tasks[0]!;
  const other = tasks.find((task) => task.target !== target);
  if (other !== undefined)
    throw new InvalidArgumentError(`${at}.items`, `items of one target (item 0: ${describe(target)})`, `${other.target} (item ${other.index})`, 'Submit a batch a target.'); // prettier-ignore
  return target;
};

const checkService = (handler: Handler, target: string, service: string, at: string): void => {
  if (handler.service === undefined) return;
  const expected = handler.service(target);
  if (expected !== service)
    throw new InvalidArgumentError(`${at}.service`, `${describe(expected)}, which handler "${handler.name}" names for target ${describe(target)}`, service); // prettier-ignore
};

const checkLimits = (handler: Handler, tasks: readonly CheckedTask[], at: string): void => {
  const { maxItems, maxBytes, overheadBytes, maxWeight } = handler.limits;
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
};

/** What was declared for the batch and what the handler says of its items, sorted. */
const unionOf = (
  field: string,
  declared: readonly string[] | undefined,
  ofItem: ((payload: unknown) => string[]) | undefined,
  items: readonly TaskInput[],
): string[] => {
  if (declared !== undefined && !Array.isArray(declared)) throw new InvalidArgumentError(field, 'an array of state keys', declared); // prettier-ignore
  const keys = new Set<string>(declared ?? []);
  if (ofItem !== undefined) for (const item of items) for (const key of ofItem(item.payload)) keys.add(key);
  return checkKeys(field, keys);
};

export const checkKeys = (field: string, keys: ReadonlySet<string>): string[] => {
  if (keys.size > MAX_KEYS)
    throw new InvalidArgumentError(field, `at most ${MAX_KEYS} state keys`, keys.size, 'Name coarser keys: a conflict too many only costs time.'); // prettier-ignore
  for (const key of keys) checkText(field, key, MAX_KEY_BYTES);
  return [...keys].sort();
};

const LONE_SURROGATE = /\p{Surrogate}/u;
export const checkText = (field: string, value: unknown, maxBytes: number): void => {
  if (typeof value !== 'string' || value === '' || value.includes('\0') || LONE_SURROGATE.test(value))
    throw new InvalidArgumentError(field, `1-${maxBytes} bytes of well-formed text without NUL`, value);
  const size = Buffer.byteLength(value);
  if (size > maxBytes) throw new InvalidArgumentError(field, `1-${maxBytes} bytes`, size);
};
