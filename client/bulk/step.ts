import { releaseTargets } from '../../postgres/calls/batch';
import * as store from '../../postgres/bulk/steps';
import type { BulkRow } from '../../postgres/bulk/action';
import { withRetries } from '../../postgres/errors';
import type { Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { KNOWN_ACTIONS, KNOWN_FILTER, unknownPart } from '../../workflows/planning/bulk/fields';
import { BULK_STATES } from '../../workflows/planning/bulk/states';
import { OVERDUE_SECONDS } from '../../workflows/planning/bulk/waits';
import { wakeGivenUp } from '../operations/cancellation';
import type { ClientContext } from '../context';
import { wakeNotifierOf } from '../operations/wakeNotifier';
import type { ListedTask } from '../../postgres/listing/task';
import { versionOf } from '../../handlers/contracts/payloadVersion';
import type { Contract } from '../../handlers/types';
import type { Applied, Order } from './apply';
import { applyTo, ChangedMeanwhile } from './apply';
import type { Patches } from './patches';
import { decidePatches, patchedPerStep, sealPatches } from './patches';
import type { BulkCursor } from './selection';
import { Selection } from './selection';
import { deedOf, failedOf, filterOf, openPatch } from './stored';

/** What a step needs. */
export type BulkContext = Pick<
  ClientContext,
  'pool' | 'prefix' | 'sealer' | 'ring' | 'ringLaneIds' | 'releaseDependents' | 'wake'
>;

/** Which steps a process makes. */
export interface StepOptions {
  /** Whose payloads it can change; default: none. */
  handlers?: ReadonlyMap<string, Contract> | undefined;
  /** Only those that older programs do not make. Default: false. */
  onlyHidden?: boolean;
  /** Ms for which others leave a step alone whose maker may have died. Default 6,000. */
  leaseMs?: number;
}

/** Tasks that one transaction changes, and that one step of counting looks at. */
const PER_STEP = 500;
const COUNTED_PER_STEP = 5_000;
const MOST_ERROR = 1_000;
/** Reasons for which tasks could not be changed that are counted apart. */
const MOST_REASONS = 20;
const OTHER_REASONS = 'for other reasons';
/** Times that one step decides patches of tasks that change meanwhile. */
const MOST_TRIES = 4;
/** Times that a lease is renewed: five minutes, then what makes the step is taken to hang. */
const MOST_RENEWALS = 150;
const STEP_LEASE_MS = 6_000;

/** What a step came to. */
export interface BulkStep {
  id: string;
  /** Tasks that it changed. */
  done: number;
  /** Why it was not made; null: it was. */
  failure: unknown;
}

/**
 * Makes the next step of the bulk action that has waited for longest: counts some tasks, or changes
 * some of them and moves the cursor in one transaction. Null: none is due. A step that fails is
 * noted, and tried again later; meanwhile others go on. Payloads are changed only where their
 * handler is known. What has fields that this program does not know is left alone.
 */
export const makeBulkStep = async (
  client: BulkContext,
  { handlers = new Map(), onlyHidden = false, leaseMs = STEP_LEASE_MS }: StepOptions = {},
): Promise<BulkStep | null> => {
  const row = await nextOf(client, { handlers: versionsOf(handlers), onlyHidden }, leaseMs);
  if (row === null) return null;
  try {
    const done = await keeping(client.pool, row, leaseMs, () =>
      row.state === BULK_STATES.counting ? countSome(client, row) : changeSome(client, row, patchedBy(handlers, row)),
    );
    return { id: row.id, done, failure: null };
  } catch (failure) {
    const text = failure instanceof Error ? failure.message : String(failure);
    await store.noteFailedStep(client.pool, row.id, row.step, text.slice(0, MOST_ERROR));
    return { id: row.id, done: 0, failure };
  }
};

const versionsOf = (handlers: ReadonlyMap<string, Contract>): store.Maker['handlers'] =>
  [...handlers].map(([name, handler]) => ({ name, payloadVersion: versionOf(handler) }));

/**
 * Returns the action whose step is made; null: none is due that this program knows. One that any
 * worker makes is kept from the others.
 */
const nextOf = async (
  { pool }: BulkContext,
  can: Pick<store.Maker, 'handlers' | 'onlyHidden'>,
  leaseMs: number,
): Promise<BulkRow | null> => {
  const maker = { ...can, filter: KNOWN_FILTER, actions: KNOWN_ACTIONS };
  for (;;) {
    const row = await withRetries(() => store.findDueBulk(pool, maker));
    if (row === null) return null;
    const unknown = unknownPart(row);
    if (unknown === null) {
      if (!row.isHidden || (await withRetries(() => store.claimStep(pool, row.id, row.step, leaseMs)))) return row;
      continue;
    }
    // A later program may be making it just now.
    if (row.dueForSeconds! < OVERDUE_SECONDS) return null;
    const error = `this worker does not know ${unknown}: it waits for a worker of a later version`;
    if (!(await store.noteLeftAlone(pool, row.id, row.step, error))) return null;
  }
};

/** Makes a step, and keeps it from others meanwhile. */
const keeping = async <T>(pool: Pool, row: BulkRow, leaseMs: number, make: () => Promise<T>): Promise<T> => {
  if (!row.isHidden) return make();
  // What fails is renewed next time; a step that others repeat is kept once, by its number.
  let renewed = 0;
  const renewal = setInterval(() => {
    if (++renewed > MOST_RENEWALS) return clearInterval(renewal);
    store.renewStep(pool, row.id, row.step, leaseMs).catch(() => undefined);
  }, leaseMs / 3);
  try {
    return await make();
  } finally {
    clearInterval(renewal);
  }
};

const cursorOf = (row: BulkRow): BulkCursor | null => row.place as BulkCursor | null;
const placeOf = (next: BulkCursor | null): string | null => (next === null ? null : JSON.stringify(next));

const countSome = async (client: BulkContext, row: BulkRow): Promise<number> => {
  const selection = await Selection.of(client.sealer, row);
  const left = (filterOf(row).limit ?? Infinity) - row.total;
  const { tasks, next } = await selection.page(client.pool, cursorOf(row), Math.min(COUNTED_PER_STEP, left));
  const place = tasks.length === left ? null : placeOf(next);
  await withRetries(() => store.noteCounted(client.pool, row.id, row.step, { total: tasks.length, place }));
  return 0;
};

/** `patched`: the handler whose payloads are changed; null: none are. */
const changeSome = async (client: BulkContext, row: BulkRow, patched: Contract | null): Promise<number> => {
  const selection = await Selection.of(client.sealer, row);
  const filter = filterOf(row);
  const left = (filter.limit ?? Infinity) - (row.done + row.skipped + failedOf(row.failures));
  const most = patched === null ? PER_STEP : patchedPerStep(patched, PER_STEP);
  const { tasks, next } = await selection.page(client.pool, cursorOf(row), Math.min(most, left));
  const place = tasks.length === left ? null : placeOf(next);
  const decided = { filter, deed: deedOf(row), bounds: row, sealer: client.sealer };
  const applied = await trying(async (isLastTry) => {
    const patches = patched === null ? null : await patchesOf(client, row, patched, tasks);
    return commit(client, row, { ...decided, patches, isLastTry }, { tasks, place });
  });
  if (applied !== null && applied.done > 0) await wakeAfter(client, applied, decided.deed.do === 'resolve');
  return applied?.done ?? 0;
};

/** Decides anew while tasks change between what was decided and their lock, a few times. */
const trying = async <T>(once: (isLastTry: boolean) => Promise<T>): Promise<T> => {
  for (let tries = 1; ; tries++)
    try {
      return await once(tries === MOST_TRIES);
    } catch (error) {
      if (!(error instanceof ChangedMeanwhile)) throw error;
    }
};

/** Changes the tasks of a step and moves the cursor. Null: there was nothing to change. */
const commit = (
  client: BulkContext,
  row: BulkRow,
  order: Order,
  { tasks, place }: { tasks: readonly ListedTask[]; place: string | null },
): Promise<Applied | null> =>
  withRetries(() =>
    inTransaction(client.pool, async (tx) => {
      if (!(await store.lockStep(tx, row.id, row.step))) return null;
      const some = tasks.length === 0 ? null : await applyTo(tx, order, tasks);
      const failed = failedOf(some?.failures ?? {});
      const done = some?.done ?? 0;
      const failures = JSON.stringify(added(row.failures, some?.failures ?? {}));
      await store.noteWorked(tx, row.id, { done, skipped: tasks.length - done - failed, failures, place });
      return some;
    }),
  );

const patchedBy = (handlers: ReadonlyMap<string, Contract>, row: BulkRow): Contract | null => {
  const deed = deedOf(row);
  return deed.do === 'update' && deed.payloadPatch !== undefined ? handlers.get(row.handler)! : null;
};

/** Decides and encodes before anything is locked: a codec may take its time. */
const patchesOf = async (
  client: BulkContext,
  row: BulkRow,
  handler: Contract,
  tasks: readonly ListedTask[],
): Promise<Patches> => {
  const seqs = tasks.flatMap(({ inLane, seq }) => (inLane ? [] : [seq]));
  const patch = await openPatch(client.sealer, deedOf(row));
  const plain = await decidePatches(client, handler, patch, seqs);
  const [newer] = plain.newer.values();
  if (newer !== undefined) throw new Error(newer);
  return sealPatches(client, handler, plain);
};

const added = (before: Readonly<Record<string, number>>, more: Readonly<Record<string, number>>): object => {
  const sum: Record<string, number> = { ...before };
  for (const [given, n] of Object.entries(more)) {
    const reason = Object.hasOwn(sum, given) || Object.keys(sum).length < MOST_REASONS ? given : OTHER_REASONS;
    sum[reason] = (sum[reason] ?? 0) + n;
  }
  return sum;
};

/** Wakes what goes on because of a step. The sweeper repeats what is lost with this process. */
export const wakeAfter = async (
  client: BulkContext,
  { targetIds, laneIds, hasEnds }: Pick<Applied, 'targetIds' | 'laneIds' | 'hasEnds'>,
  isResolved: boolean,
): Promise<void> => {
  const targets = [...new Set(targetIds)];
  if (isResolved) await releaseTargets(client.pool, targets);
  await client.ring(targets);
  await client.ringLaneIds(new Set(laneIds));
  if (hasEnds) await client.releaseDependents();
  await wakeGivenUp(client, targets);
  if (hasEnds) await wakeNotifierOf(client);
};
