import { problemsOf, settings, whole } from '../../handlers/checks';
import { MAX_LINGER_MS } from '../../workflows/planning/grouping/longest';
import { withRetries } from '../../postgres/errors';
import { pauseHandler, resumeHandler } from '../../postgres/grouping/handler';
import { lanesOfHandler } from '../../postgres/lanes/control';
import { wakeResumedLeaders } from '../../postgres/grouping/leaderWakes';
import { findTargetsWithWork } from '../../postgres/operations/resume';
import { lowerDue, WAKE_LEASE_MS } from '../../postgres/grouping/ring';
import { flushLanes, flushTargets, setTargetOverrides, setTargetPaused } from '../../postgres/grouping/target';
import { readLimits } from '../../postgres/operations/status';
import { wakeLeaderWorkflows } from '../../workflows/wake';
import type { ClientContext } from '../context';
import { chunksOf, IDS_PER_STATEMENT } from '../context';
import { InvalidArgumentError, MusterError, NotFoundError } from '../errors';
import { findScope } from './scope';
import type { TargetOverrides } from '../views';
import { checkReason } from '../arguments';

/**
 * The operator's verbs that pause, resume, flush and tune. Each of them writes rows, and wakes
 * after the commit. The sweeper repeats a wake that is lost.
 */

export const flush = async (
  client: ClientContext,
  handler: string,
  target?: string,
): Promise<{ targets: number; tasks: number }> => {
  await findScope(client, handler, target);
  const flushed = await withRetries(() => flushTargets(client.pool, handler, target ?? null));
  await client.ring(flushed.map(({ id }) => id));
  const inLanes = await withRetries(() => flushLanes(client.pool, handler, target ?? null));
  if (inLanes.length > 0) await client.ringLaneIds(new Set(inLanes.map(({ laneId }) => laneId)));
  const all = [...flushed, ...inLanes];
  return { targets: all.length, tasks: all.reduce((sum, { tasks }) => sum + tasks, 0) };
};

/** Options of `handlers.pause`. */
export interface PauseOptions {
  /** Pause only this target; default: the whole handler. */
  target?: string;
  /**
   * The reason, which `status`, `targets` and `explain` show until the resume. At most 1,000
   * characters; default `paused by hand`.
   */
  reason?: string;
}

export const pause = async (
  client: ClientContext,
  handler: string,
  options: PauseOptions = {},
): Promise<{ paused: true }> => {
  const { target } = options;
  const reason = checkReason(options.reason ?? 'paused by hand');
  await findScope(client, handler, target);
  if (target === undefined) await pauseHandler(client.pool, handler, reason);
  else await setTargetPaused(client.pool, handler, target, reason);
  return { paused: true };
};

export const resume = async (
  client: ClientContext,
  handler: string,
  options: { target?: string } = {},
): Promise<{ resumed: true }> => {
  const { target } = options;
  await findScope(client, handler, target);
  if (target === undefined) await resumeHandler(client.pool, handler);
  else await setTargetPaused(client.pool, handler, target, null);
  // In separate statements after the commit: targets with work are due now, and their leaders look
  // again.
  for (const ids of chunksOf(await findTargetsWithWork(client.pool, handler, target ?? null), IDS_PER_STATEMENT))
    await lowerDue(client.pool, ids);
  await client.ringLaneIds(await lanesOfHandler(client.pool, handler, target ?? null));
  const leaders = await wakeResumedLeaders(client.pool, handler, target ?? null, WAKE_LEASE_MS);
  if (leaders.length > 0) await client.wake((requests) => wakeLeaderWorkflows(requests, client.prefix, leaders));
  return { resumed: true };
};

const overridesSchema = settings({
  lingerMs: whole(0, MAX_LINGER_MS, 'milliseconds').optional(),
  quietPeriodMs: whole(1, MAX_LINGER_MS, 'milliseconds').optional(),
  maxItems: whole(1, 100_000, 'tasks').optional(),
  minItems: whole(1, 100_000, 'tasks').optional(),
});

export const setTarget = async (
  client: ClientContext,
  handler: string,
  target: string,
  overrides: TargetOverrides | null,
): Promise<void> => {
  const problems = overrides === null ? [] : problemsOf(overridesSchema, overrides);
  if (problems.length > 0) {
    const lines = problems.map(({ path, message }) => `${path === '' ? 'overrides' : `overrides.${path}`}: ${message}`);
    throw new MusterError('INVALID_ARGUMENT', `${lines.join('\n')}`);
  }
  const { handlerId, targetId } = await findScope(client, handler, target);
  const maxItems = overrides?.maxItems ?? (await readLimits(client.pool, handlerId)).maxItems;
  if (overrides?.minItems !== undefined && overrides.minItems > maxItems)
    throw new InvalidArgumentError('overrides.minItems', `at most maxItems (${maxItems})`, overrides.minItems);
  const given = Object.entries<number | undefined>(overrides ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  if (!(await setTargetOverrides(client.pool, targetId!, given.length === 0 ? null : Object.fromEntries(given))))
    throw new NotFoundError('target', target, 'It was deleted meanwhile, since nothing had used it.');
  await client.ring([targetId!]);
};
