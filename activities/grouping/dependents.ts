import { withRetries } from '../../postgres/errors';
import * as store from '../../postgres/grouping/dependents';
import { insertNotifications } from '../../postgres/calls/records';
import type { Client, Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { planDependents } from '../../workflows/planning/grouping/dependents';
import { wakeNotifier } from '../../workflows/wake';
import { notificationsOfEnds } from '../callbacks/notificationsOfEnds';
import type { FailedUnsent, OutcomesTold } from '../outcomes/told';
import { noteUnsent } from '../outcomes/noted';
import { UnsentFailures } from '../outcomes/unsent';
import type { RingDeps } from './ring';
import { awaitBriefly, ring } from './ring';

/** Most ends per transaction, and dependencies that are followed from them. */
const ENDS_AT_ONCE = 200;
const FOLLOWED = 1_000;
/** A million dependents take a minute: what is released is rung meanwhile. */
const TELL_EVERY_MS = 1_000;
/** Longest that a round of the sweeper works off ends; the next one goes on. */
export const ENDED_BUDGET_MS = 1_000;

/** What there is to ring after dependents were released or failed. */
export interface Released {
  targetIds: number[];
  hasNotifications: boolean;
  /** Tasks that failed, since one that they depend on did; by handler. */
  failed: readonly FailedUnsent[];
}

/** Rings, and is told of dependents that failed, where this process counts ends. */
export type ReleaseDeps = RingDeps & { outcomes?: Pick<OutcomesTold, 'failedUnsent'> | undefined };

/**
 * Works off what has ended and was waited for, until nothing is left that no other process works
 * off, or the budget is used up: dependents are queued, or fail and so end for their own
 * dependents. Each step is a transaction of bounded size; after a crash the next caller continues,
 * at the latest the sweeper. `tell` hears every second, and at the end, what was committed.
 */
export const workOffEnded = async (
  pool: Pool,
  tell: (released: Released) => Promise<void> = () => Promise.resolve(),
  budgetMs = Infinity,
): Promise<void> => {
  if (!(await withRetries(() => store.hasEnded(pool)))) return;
  const until = performance.now() + budgetMs;
  for (let more = true; more;) {
    const tellAt = Math.min(until, performance.now() + TELL_EVERY_MS);
    const targetIds = new Set<number>();
    const failures = new UnsentFailures('task');
    let hasNotifications = false;
    try {
      do {
        const step = await withRetries(() => inTransaction(pool, workOffSome));
        for (const id of step?.targetIds ?? []) targetIds.add(id);
        for (const end of step?.failed ?? []) failures.add(end);
        hasNotifications ||= step?.hasNotifications ?? false;
        more = step !== null;
      } while (more && performance.now() < tellAt);
    } finally {
      await tell({ targetIds: [...targetIds], hasNotifications, failed: failures.all() });
    }
    more &&= performance.now() < until;
  }
};

/** What one transaction did. */
interface Step extends Pick<Released, 'targetIds' | 'hasNotifications'> {
  failed: readonly store.FailedDependent[];
}

const workOffSome = async (client: Client): Promise<Step | null> => {
  const ended = await store.takeEnded(client, ENDS_AT_ONCE);
  if (ended.length === 0) return null;
  const seqs = await store.findDependents(client, ended, FOLLOWED);
  let targetIds: number[] = [];
  let failed: Failed = { hasNotifications: false, failed: [] };
  if (seqs.length > 0) {
    const held = new Set(await store.lockHeld(client, seqs));
    // In a new snapshot: another process may have had the lock, and marked other dependencies.
    const needs = await store.readNeeds(client, seqs);
    const plan = planDependents(new Map(ended.map(({ seq, state }) => [seq, state])), needs, held);
    if (plan.marks.length > 0) await store.markNeeds(client, plan.marks);
    if (plan.released.length > 0) targetIds = await store.releaseHeld(client, plan.released);
    if (plan.failed.length > 0) failed = await fail(client, plan.failed);
  }
  await store.deleteEnded(
    client,
    ended.map(({ id }) => id),
  );
  return { targetIds, ...failed };
};

type Failed = Pick<Step, 'hasNotifications' | 'failed'>;

const fail = async (client: Client, those: Parameters<typeof store.failHeld>[1]): Promise<Failed> => {
  const ends = await store.failHeld(client, those);
  const notifications = ends.flatMap(({ error, ...end }) =>
    notificationsOfEnds([{ ...end, batchId: null }], { state: 'failed', error }),
  );
  if (notifications.length > 0) await insertNotifications(client, notifications);
  await noteUnsent(client, ends, 'failed');
  return { hasNotifications: notifications.length > 0, failed: ends };
};

/** Works off ends and rings. A failure is logged only: the sweeper repeats it. */
export const releaseDependents = async (deps: ReleaseDeps, budgetMs = Infinity): Promise<void> => {
  try {
    await workOffEnded(deps.pool, (released) => tellReleased(deps, released), budgetMs);
  } catch (err) {
    deps.log.warn({ err: err as Error }, 'dependents were not released, or not rung; the sweeper will repeat it');
  }
};

const tellReleased = async (deps: ReleaseDeps, { targetIds, hasNotifications, failed }: Released): Promise<void> => {
  for (const one of failed) deps.outcomes?.failedUnsent(one);
  await ring(deps, targetIds);
  if (hasNotifications)
    await awaitBriefly(deps, wakeNotifier(deps.requests, deps.prefix), 'the notifier was not woken');
};
