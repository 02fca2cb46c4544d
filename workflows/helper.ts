import { ApplicationFailure, condition, setHandler } from '@temporalio/workflow';
import type { TaskEnd, TasksEnded, WorkflowTask } from './definitions';
import { tasksEndedSignal } from './definitions';
import { musterActivities, orRefusal } from './musterActivities';
import { RARE_ASK_MS, rareAsks } from './loops/rareAsks';
import { DEFAULT_PREFIX } from './naming';
import { some } from './planning/webUi/some';

/**
 * Options of `submitTask` and `submitTasks`, by which a user's own workflow submits tasks and
 * durably waits for their results. Its worker needs nothing for that: the activities run in
 * Muster's workers, on their task queue.
 */
export interface SubmitOptions {
  /**
   * Ends the wait with a `MusterTimeout` after this many milliseconds; the tasks continue. Default:
   * no limit.
   */
  timeout?: number;
  /** Prefix of the Muster installation, in the same namespace. Default `muster`. */
  prefix?: string;
}

export type { WorkflowTask } from './definitions';
/** The end of a task, with the result that the downstream returned for it. */
export interface TaskResult<R = unknown> extends Omit<TaskEnd, 'result'> {
  result?: R;
}

/**
 * Types of the `ApplicationFailure` that `submitTask` throws. The first four have the task's end as
 * their detail.
 */
export const FAILURE_TYPES = {
  failed: 'MusterTaskFailed',
  dead: 'MusterTaskDead',
  unknown: 'MusterTaskUnknown',
  cancelled: 'MusterTaskCancelled',
  timeout: 'MusterTimeout',
  invalid: 'MusterInvalidTask',
  handler: 'MusterUnknownHandler',
  unreadable: 'MusterUnreadable',
} as const;

/**
 * Intervals in milliseconds at which a task is polled whose end is reported elsewhere, because
 * another workflow or a client submitted it first: the first, doubling up to the longest.
 */
const FIRST_ASK_MS = 2_000;
const LONGEST_ASK_MS = 60_000;
const ASK = 500;

/**
 * Submits one task, waits until it has ended, and returns its end if it succeeded. `result` is what
 * the downstream returned; a result of more than 1 MB is left out (`resultOmitted`): read it from
 * the store. Otherwise throws an `ApplicationFailure` of one of `FAILURE_TYPES`. That includes
 * `unknown`: such a task is parked until an operator decides its outcome.
 *
 * The task's id makes it safe to repeat the call: a workflow that is reset, retried, or continued
 * as new while it waits submits the same task again and gets its end. Cancelling the workflow ends
 * the wait, not the task.
 */
export const submitTask = async <R = unknown, P = unknown>(
  handler: string,
  task: WorkflowTask<P>,
  options: SubmitOptions = {},
): Promise<TaskResult<R>> => {
  const [end] = await submitTasks<R, P>(handler, [task], options);
  if (end!.state === 'succeeded') return end!;
  throw ApplicationFailure.create({
    type: FAILURE_TYPES[end!.state],
    message: `task ${end!.id} of ${handler} is ${end!.state}: ${end!.error ?? 'no reason given'}`,
    nonRetryable: true,
    details: [end],
  });
};

/**
 * Submits at most 10,000 tasks of at most 2 MB in all, which are accepted in one transaction, and
 * returns their ends in the order of the tasks, whether they succeeded or not. Throws an
 * `ApplicationFailure` only if the tasks are not accepted, or on the timeout.
 */
export const submitTasks = async <R = unknown, P = unknown>(
  handler: string,
  tasks: readonly WorkflowTask<P>[],
  options: SubmitOptions = {},
): Promise<TaskResult<R>[]> => {
  const deadline = options.timeout === undefined ? Infinity : Date.now() + options.timeout;
  const inbox = theInbox();
  const wait = inbox.expect(tasks.map((task) => task.id));
  try {
    const prefix = options.prefix ?? DEFAULT_PREFIX;
    const { submitTasks: submit } = musterActivities(prefix, '1 minute', `${some(tasks.length, 'task')} of ${handler}`);
    const { ends, foreign } = await orRefusal(submit({ handler, tasks: [...tasks] }));
    wait.take(ends);
    await untilEnded(wait, foreign, deadline, prefix);
    await fetchOmitted(wait, prefix);
    return tasks.map((task) => wait.endOf(task.id) as TaskResult<R>);
  } finally {
    inbox.forget(wait);
  }
};

const untilEnded = async (wait: Wait, foreign: readonly string[], deadline: number, prefix: string): Promise<void> => {
  if (wait.isOver()) return;
  const rare = foreign.length === 0 && deadline === Infinity ? rareAsks.begin() : null;
  try {
    await (rare === null ? untilEndedByTimers(wait, foreign, deadline, prefix) : untilEndedOrAsked(wait, rare, prefix));
  } finally {
    rare?.end();
  }
};

const untilEndedOrAsked = async (
  wait: Wait,
  rare: NonNullable<ReturnType<typeof rareAsks.begin>>,
  prefix: string,
): Promise<void> => {
  for (;;) {
    await condition(() => wait.isOver() || rare.isDue());
    if (wait.isOver()) return;
    await ask(wait, prefix);
    rare.asked();
  }
};

const untilEndedByTimers = async (
  wait: Wait,
  foreign: readonly string[],
  deadline: number,
  prefix: string,
): Promise<void> => {
  let askMs = foreign.length > 0 ? FIRST_ASK_MS : RARE_ASK_MS;
  while (!wait.isOver()) {
    const leftMs = deadline - Date.now();
    if (leftMs <= 0) throw timedOut(wait);
    const summary = `until ${some(wait.missing().length, 'task')} ended`;
    if (await condition(() => wait.isOver(), Math.min(leftMs, askMs), { summary })) return;
    if (deadline - Date.now() <= 0) continue;
    await ask(wait, prefix);
    askMs = foreign.length > 0 ? Math.min(LONGEST_ASK_MS, askMs * 2) : RARE_ASK_MS;
  }
};

const ask = async (wait: Wait, prefix: string): Promise<void> => {
  const missing = wait.missing();
  const { readTaskEnds } = musterActivities(prefix, '1 minute', `asks whether ${some(missing.length, 'task')} ended`);
  for (let i = 0; i < missing.length; i += ASK) wait.take(await readTaskEnds({ ids: missing.slice(i, i + ASK) }));
};

const timedOut = (wait: Wait): ApplicationFailure => {
  const missing = wait.missing();
  const more = missing.length > 3 ? ` and ${missing.length - 3} more` : '';
  return ApplicationFailure.create({
    type: FAILURE_TYPES.timeout,
    message: `no end within the timeout of ${missing.slice(0, 3).join(', ')}${more}; the tasks continue`,
    nonRetryable: true,
    details: [{ missing: missing.slice(0, 100) }],
  });
};

/**
 * Reads results that were too large for a message, as many at a time as fit into an activity's
 * result, until only those are left that are too large for one.
 */
const fetchOmitted = async (wait: Wait, prefix: string): Promise<void> => {
  let omitted = wait.omitted();
  const { readTaskEnds } = musterActivities(prefix, '1 minute', 'reads large results');
  while (omitted.length > 0) {
    wait.take(await readTaskEnds({ ids: omitted.slice(0, ASK) }), true);
    const left = wait.omitted();
    // The first one did not fit even as the first of an answer: it is too large.
    omitted = left[0] === omitted[0] ? wait.giveUp(left[0]!) : left;
  }
};

/** The tasks for which one call waits. */
class Wait {
  private readonly ends = new Map<string, TaskEnd>();
  private readonly tooLarge = new Set<string>();
  private left: number;

  constructor(private readonly ids: ReadonlySet<string>) {
    this.left = ids.size;
  }
  /**
   * Records ends. The first end of a task counts, unless `again`: a later one is a repeat, or comes
   * from a redrive.
   */
  take(ends: readonly TaskEnd[], again = false): void {
    for (const end of ends) {
      if (!this.ids.has(end.id) || (this.ends.has(end.id) && !again)) continue;
      if (!this.ends.has(end.id)) this.left--;
      this.ends.set(end.id, end);
    }
  }
  isOver(): boolean {
    return this.left === 0;
  }
  missing(): string[] {
    return [...this.ids].filter((id) => !this.ends.has(id));
  }
  omitted(): string[] {
    return [...this.ids].filter((id) => this.ends.get(id)?.resultOmitted === true && !this.tooLarge.has(id));
  }
  giveUp(id: string): string[] {
    this.tooLarge.add(id);
    return this.omitted();
  }
  endOf(id: string): TaskEnd {
    return this.ends.get(id)!;
  }
}

/** The only handler of the signal, shared by all calls of a workflow run. */
class Inbox {
  private readonly waits = new Set<Wait>();

  constructor() {
    setHandler(tasksEndedSignal, (message) => this.receive(message), {
      description: 'Tasks submitted by this workflow ended',
    });
  }
  expect(ids: readonly string[]): Wait {
    const wait = new Wait(new Set(ids));
    this.waits.add(wait);
    return wait;
  }
  forget(wait: Wait): void {
    this.waits.delete(wait);
  }
  private receive({ tasks, resultsOmitted }: TasksEnded): void {
    const ends = resultsOmitted === true ? tasks.map(withOmission) : tasks;
    for (const wait of this.waits) wait.take(ends);
  }
}

const withOmission = (end: TaskEnd): TaskEnd =>
  end.result === undefined && (end.state === 'succeeded' || end.state === 'failed')
    ? { ...end, resultOmitted: true }
    : end;

/**
 * Module state belongs to a workflow run: the SDK gives every run its own instances of the modules.
 */
let inbox: Inbox | undefined;
const theInbox = (): Inbox => (inbox ??= new Inbox());

export * from './fanoutHelper';
