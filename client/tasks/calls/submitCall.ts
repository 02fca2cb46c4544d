import { withinSubmitSpan } from '../../../handlers/tracing/submitSpan';
import type { Contract } from '../../../handlers/types';
import type { Connection } from '../../connection';
import { InvalidTaskError, TooManyTasksError } from '../../errors';
import { askAccepting } from '../accepting';
import { Checks } from './checks';
import type { TaskInput } from '../checkTasks';
import { OVERLAP_FROM } from './overlap';
import type { Stored, SubmitOptions } from '../submitResult';

/** Most tasks per call of `submit` with an array. */
export const MAX_TASKS_PER_CALL = 10_000;
/**
 * A submit of at least this many tasks resolves with its commit. Its ring follows in the
 * background, shared with those of later submits (`close` waits for it): a ring looks at every
 * target of the tasks, and would take a producer of many tasks longer than the commit. Smaller
 * submits wait for their ring, since a script may end right after one.
 */
const RING_BEHIND_FROM = 50;

interface Call {
  connection: Connection;
  handler: Contract;
  checks: Checks;
  options: SubmitOptions;
}

/** Stores the tasks of one call, or of one chunk of a stream, and rings for them. */
export const submitCall = async (
  connection: Connection,
  handler: Contract,
  tasks: readonly TaskInput[],
  options: SubmitOptions,
): Promise<Stored> => {
  if (tasks.length > MAX_TASKS_PER_CALL) throw new TooManyTasksError(MAX_TASKS_PER_CALL, tasks.length);
  const call = { connection, handler, checks: new Checks(handler, tasks), options };
  const stored = mayOverlap(call) ? await storeWhileChecking(call) : await storeChecked(call);
  // In a caller's transaction there is nothing to ring for yet, since it commits later. The sweeper
  // finds the tasks within seconds.
  if (options.tx === undefined && stored.accepted + stored.repeated > 0) {
    const rings = connection.ringSubmitted(stored.rung);
    if (tasks.length < RING_BEHIND_FROM || stored.rung.hasDependents) await rings;
  }
  return stored;
};

/** Says whether nothing but its tasks decides what becomes of the call. */
const mayOverlap = ({ connection, checks, options }: Call): boolean =>
  checks.given >= OVERLAP_FROM &&
  options.tx === undefined &&
  options.admit === undefined &&
  connection.hooks?.taskAccepted === undefined &&
  connection.sealer === null;

const storeWhileChecking = async (call: Call): Promise<Stored> => {
  const { connection, handler, checks } = call;
  try {
    const within = withinSpan(call, checks.given);
    const targetIds = await connection.inserter.overlap.store(handler, checks, within);
    if (targetIds !== null)
      return { accepted: checks.given, repeated: 0, refused: [], rung: { ...NOTHING, targetIds } };
  } catch (error) {
    await checkAll(call); // a task that is refused is refused, whatever became of the others
    throw error;
  }
  return storeChecked(call);
};

const storeChecked = async (call: Call): Promise<Stored> => {
  await checkAll(call);
  const { checked, problems } = call.checks;
  if (checked.length === 0) return { accepted: 0, repeated: 0, refused: problems, rung: NOTHING };
  return withinSpan(call, checked.length)((trace) => storeAll(call, trace));
};

const withinSpan =
  ({ handler, options: { traceparent } }: Call, tasks: number) =>
  <T>(store: (trace: string | null) => Promise<T>): Promise<T> =>
    withinSubmitSpan({ handler: handler.name, tasks, traceparent }, store);

/** Checks the tasks that have not been checked, and asks what else may refuse them. */
const checkAll = async ({ connection, handler, checks, options }: Call): Promise<void> => {
  checks.check(checks.given);
  const { checked, problems } = checks;
  if (problems.length > 0 && options.partial !== true) throw new InvalidTaskError(problems);
  if (checked.length === 0) return;
  await askAccepting(connection.hooks, handler.name, checked);
  await options.admit?.(checked);
};

const storeAll = async ({ connection, handler, checks, options }: Call, trace: string | null): Promise<Stored> => {
  const { checked, problems } = checks;
  const { accepted, repeated, refused, ...rung } = await connection.inserter.store(handler, checked, {
    partial: options.partial ?? false,
    ...(options.tx === undefined ? {} : { tx: options.tx }),
    ...(options.admitLanes === undefined ? {} : { admitLanes: options.admitLanes }),
    trace,
  });
  return { accepted, repeated, refused: [...problems, ...refused], rung };
};

const NOTHING = { targetIds: [], laneIds: [], hasDependents: false };
