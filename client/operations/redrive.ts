import { withRetries } from '../../postgres/errors';
import type { Client as Transaction } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import type { RedriveScope } from '../../postgres/operations/redrive';
import * as store from '../../postgres/operations/redrive';
import { readNeeds, releaseHeld } from '../../postgres/grouping/dependents';
import type { FailedDependents } from '../../postgres/operations/redriveDependents';
import { holdAgain, lockFailedDependents } from '../../postgres/operations/redriveDependents';
import { readTime } from '../../postgres/time';
import { TASK_STATES } from '../../workflows/planning/states';
import { checkIds, checkOneOf, checkWhole } from '../arguments';
import { wakeGivenUp } from './cancellation';
import type { ClientContext } from '../context';
import { chunksOf, IDS_PER_STATEMENT } from '../context';
import { NotFoundError } from '../errors';
import { countEnded } from '../tasks/countEnded';
import type { Scope } from './scope';
import { findScope } from './scope';

/** Options of `tasks.redrive`: which tasks are sent again. */
export interface RedriveOptions {
  /**
   * The state of the tasks. `unknown` are parked tasks, which may be applied twice if they are sent
   * again.
   */
  only: 'failed' | 'unknown' | 'dead';
  /** Only tasks of this target; default: of the whole handler. */
  target?: string;
  /** Only these tasks, as far as they are in that state; default: all. */
  ids?: readonly string[];
  /** Most tasks in all, 1 to 1,000,000,000; default: no limit. */
  limit?: number;
}

const ONLY = ['failed', 'unknown', 'dead'] as const;

/** Moves at most `limit` tasks in one transaction. Returns their targets, one entry per task. */
type Step = (limit: number) => Promise<number[]>;

/**
 * Redrives tasks, and rings after each transaction. A task that ends in the same state again
 * meanwhile is not redriven twice.
 */
export const redrive = async (
  client: ClientContext,
  handler: string,
  options: RedriveOptions,
): Promise<{ redriven: number }> => {
  const only = checkOneOf('only', options?.only, ONLY);
  const most = options.limit === undefined ? Infinity : checkWhole('limit', options.limit, 1, 1_000_000_000);
  const ids = options.ids === undefined ? null : checkIds('ids', options.ids);
  const found = await findScope(client, handler, options.target);
  const state = TASK_STATES[only];
  const before = await readTime(client.pool);
  const seqs = ids === null ? null : await findSeqs(client, handler, found, ids);
  const steps =
    seqs === null
      ? stepsOfScope(client, { ...found, state, lastBatchId: await store.newestBatchId(client.pool) })
      : stepsOfIds(client, seqs, state);
  // Failed dependents come last, after their dependencies, as far as those are redriven too.
  if (only === 'failed') steps.push(...stepsOfDependents(client, { ...found, before }, seqs));
  let redriven = 0;
  for (const step of steps) {
    for (let more = true; more && redriven < most;) {
      const targetIds = await withRetries(() => step(Math.min(IDS_PER_STATEMENT, most - redriven)));
      redriven += targetIds.length;
      await client.ring(new Set(targetIds));
      await wakeGivenUp(client, [...new Set(targetIds)]);
      // A step takes all of its given ids at once, and a second look would find tasks that have
      // failed again meanwhile.
      more = ids === null && targetIds.length > 0;
    }
  }
  await client.releaseDependents();
  return { redriven };
};

/**
 * Returns the steps for a handler or target. Each of them is repeated until it finds nothing more.
 */
const stepsOfScope = (client: ClientContext, scope: RedriveScope): Step[] => [
  (limit) => store.redriveOutcomes(client.pool, scope, limit),
  (limit) =>
    inTransaction(client.pool, async (tx) => {
      const batchIds = await store.lockEndedBatches(tx, scope, limit);
      return store.redriveMembers(tx, batchIds, null, limit);
    }),
];

const stepsOfIds = (client: ClientContext, seqs: readonly number[], state: number): Step[] =>
  chunksOf(seqs, IDS_PER_STATEMENT).flatMap((chunk): Step[] => [
    (limit) => store.redriveOutcomesOf(client.pool, chunk, state, limit),
    (limit) =>
      inTransaction(client.pool, async (tx) => {
        const batchIds = await store.lockBatchesOf(tx, chunk, state);
        return store.redriveMembers(tx, batchIds, chunk, limit);
      }),
  ]);

const stepsOfDependents = (
  client: ClientContext,
  scope: Omit<FailedDependents, 'seqs'>,
  seqs: readonly number[] | null,
): Step[] =>
  (seqs === null
    ? [null]
    : chunksOf(
        [...seqs].sort((a, b) => a - b),
        IDS_PER_STATEMENT,
      )
  ).map(
    (chunk): Step =>
      (limit) =>
        inTransaction(client.pool, (tx) => redriveDependents(tx, { ...scope, seqs: chunk }, limit)),
  );

/**
 * Holds failed dependents again, in a transaction of the caller; returns the target of each.
 * `releaseDependents` is due after it.
 */
export const redriveDependents = async (tx: Transaction, of: FailedDependents, limit: number): Promise<number[]> => {
  const chosen = await lockFailedDependents(tx, of, limit);
  if (chosen.length === 0) return [];
  const needs = await readNeeds(tx, chosen);
  const targetIds = await holdAgain(tx, chosen);
  // What waits for nothing failed because it expired.
  const waiting = new Set(needs.flatMap(({ seq, state: how }) => (how === TASK_STATES.succeeded ? [] : [seq])));
  await releaseHeld(
    tx,
    chosen.filter((seq) => !waiting.has(seq)),
  );
  const ends = needs.filter(({ state: how }) => how !== TASK_STATES.succeeded);
  await countEnded(tx, new Map(ends.map(({ needs: on, state: how }) => [on, how])));
  return targetIds;
};

/**
 * Returns the numbers of these tasks of a handler, or of one target of it.
 *
 * @throws NotFoundError for tasks that are not of it.
 */
export const findSeqs = async (
  client: ClientContext,
  handler: string,
  scope: Scope,
  ids: readonly string[],
): Promise<number[]> => {
  const seqs: number[] = [];
  for (const chunk of chunksOf(ids, IDS_PER_STATEMENT)) {
    const rows = await store.findTasksOf(client.pool, scope.handlerId, scope.target, chunk);
    const found = new Map(rows.map((row) => [row.id, row.seq]));
    const missing = chunk.find((id) => !found.has(id));
    if (missing !== undefined) {
      const where = scope.target === null ? '' : `, target "${scope.target}"`;
      throw new NotFoundError('task', missing, 'Nothing was redriven.', `handler "${handler}"${where}`);
    }
    seqs.push(...chunk.map((id) => found.get(id)!));
  }
  return seqs;
};
