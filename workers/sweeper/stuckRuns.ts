import { isGrpcServiceError, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { Logger } from 'pino';
import type { Pool } from '../../postgres/pool';
import { RUNNING, saysNoRun } from '../../workflows/planning/protocol';
import type { Requests } from '../../workflows/temporal/requests';
import { WAKE_DEADLINE_MS } from '../../workflows/temporal/requests';
import type { SweepCounts } from './counts';
import type { DescribedRun } from '../temporal/openRun';
import { askForRun } from '../temporal/openRun';
import { isForOneWorker } from '../temporal/stickyTask';
import { OwnStops } from '../ownStops';
import { StoreContact } from './lease/storeContact';
import { CurrentBuilds } from './stuck/currentBuilds';
import { Holders } from './stuck/holders';
import type { Memory } from './stuck/memory';
import { newMemory } from './stuck/memory';
import { nextTimeOut } from './stuck/nextLook';
import { firstOverstays, NONE_TIMED, timedNow } from './stuck/timedActivities';
import type { Quiet, StuckLimits } from './stuckRun';
import {
  FIRST_REST_MS,
  isAgain,
  isWaiting,
  mostHeldUpFirst,
  nameOf,
  nextRestMs,
  quietOf,
  REST_AFTER_GONE_MS,
  sinceSeen,
  STUCK_LIMITS,
  whyStuck,
  workersOf,
} from './stuckRun';

export interface StuckRunsOptions {
  pool: Pool;
  requests: Requests;
  prefix: string;
  node: string;
  log: Logger;
  /** Default: `STUCK_LIMITS`. */
  stuck?: Partial<StuckLimits> | undefined;
  /** Since when the store has answered this process. Default: as its own looks show. */
  contact?: StoreContact;
}

/** A workflow that was woken, or has overdue work, and has been silent since. */
export interface SilentRun {
  type: string;
  workflowId: string;
  /** 0: it owes nothing, but may wait in vain. */
  silentMs: number;
  /** It answers a wake with a turn, whatever its activities do. */
  takesTurns: boolean;
  /** Starts the next run, or tells the one that is there. */
  wake: () => Promise<unknown>;
}

/** Time between two looks at the same run. */
const LOOK_MS = 5_000;
const LOOK_AT_VERSION_MS = 1_000;
/** The same of a run that owes no turn: only its activities may be stuck. */
const LOOK_AT_WELL_MS = 15_000;
/** The same of a run whose workflow task, or activities, nodes have, which may be gone. */
const LOOK_AT_HELD_MS = 500;
const PARALLELISM = 8;
/** No look begins later in a round: one that its deadline cuts off counts anew. */
const BEGIN_LOOKS_MS = WAKE_DEADLINE_MS - 1_000;
/** `temporal.api.enums.v1.WORKFLOW_EXECUTION_STATUS_FAILED`. */
const FAILED = 3;

/**
 * Heals runs that make no progress: a history that does not replay, a version without workers, a
 * worker that died with the workflow task, an activity whose timer the server lost, an unreadable
 * signal, a bug. Nothing of a run must be kept (every fact is in the store, and the next run's
 * first turn adopts what it finds), so it is terminated and begun anew, with today's code and
 * without a replay. Calls of its dispatches end by themselves, and their true answers count. A
 * mistake costs a run.
 */
export class StuckRuns {
  private readonly memories = new Map<string, Memory>();
  private readonly limits: StuckLimits;
  private currents = new CurrentBuilds();
  private readonly stops = new OwnStops();
  private readonly holders: Holders;
  /** When Temporal gave no answer about any run. */
  private awayAt = -Infinity;

  constructor(private readonly options: StuckRunsOptions) {
    this.limits = { ...STUCK_LIMITS, ...options.stuck };
    this.holders = new Holders({ ...options, contact: options.contact ?? new StoreContact() });
  }

  /** Looks at silent runs and begins the stuck ones anew. To be repeated every second or two. */
  async look(silent: readonly SilentRun[], counts: Pick<SweepCounts, 'stuckRuns'> = { stuckRuns: 0 }): Promise<void> {
    const now = performance.now();
    this.forget(now);
    this.holders.begin(new Set(this.memories.keys()));
    this.stops.watch();
    this.currents = new CurrentBuilds();
    const queue = mostHeldUpFirst(silent.filter((run) => this.remember(run, now)));
    const runner = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        if (performance.now() - now > BEGIN_LOOKS_MS) return;
        if (await this.lookAt(next)) counts.stuckRuns++;
      }
    };
    const runners = await Promise.allSettled(Array.from({ length: Math.min(PARALLELISM, queue.length) }, runner));
    const failed = runners.filter((one) => one.status === 'rejected');
    if (failed.length > 0 && failed.length === runners.length) this.awayAt = performance.now();
    for (const { reason } of failed) throw reason;
  }

  /** False: it was seen to be of the current version, or of none, or to have ended. */
  mayWaitForVersion({ workflowId }: Pick<SilentRun, 'workflowId'>): boolean {
    return this.memories.get(workflowId)?.isOfOtherVersion ?? true;
  }

  /** Says whether it is to be looked at now. */
  private remember({ workflowId, silentMs }: SilentRun, now: number): boolean {
    const memory = this.memories.get(workflowId);
    if (memory === undefined) {
      this.memories.set(workflowId, newMemory(now));
      return true;
    }
    memory.lastSilent = now;
    const lookAt = Math.min(memory.lookAt, memory.lookedAt + (silentMs === 0 ? LOOK_AT_WELL_MS : LOOK_MS));
    return now >= lookAt && now >= memory.restUntil;
  }

  private forget(now: number): void {
    for (const [id, { lastSilent, restMs }] of this.memories)
      if (now - lastSilent > 2 * Math.max(restMs, LOOK_MS)) this.memories.delete(id);
  }

  private countAnew(memory: Memory, now: number): void {
    memory.since = now;
    memory.task = null;
    memory.quiet = null;
    memory.timed = NONE_TIMED;
  }

  private async lookAt(silent: SilentRun): Promise<boolean> {
    const memory = this.memories.get(silent.workflowId)!;
    const now = performance.now();
    const run = await this.describe(silent.workflowId).catch((error: unknown) => {
      this.countAnew(memory, performance.now());
      throw error;
    });
    memory.isOfOtherVersion = run?.isOfOtherVersion ?? false;
    if (run?.runId !== memory.runId) {
      memory.runId = run?.runId ?? null;
      this.countAnew(memory, now - Math.min(run?.ageMs ?? 0, silent.silentMs));
    }
    memory.lookedAt = now;
    memory.lookAt = memory.isOfOtherVersion ? now + LOOK_AT_VERSION_MS : Infinity;
    if (run === null) {
      if (memory.isUnwoken) await this.wake(silent, memory);
      return false;
    }
    memory.isUnwoken = false;
    const seenAt = performance.now();
    // While Temporal was away no worker could do anything, and while this process was stopped it
    // has noticed nothing.
    if (memory.seenAt < this.awayAt || this.stops.wasStoppedSince(memory.seenAt)) this.countAnew(memory, seenAt);
    memory.task = sinceSeen(memory.task, nameOf(run.task), seenAt);
    memory.quiet = sinceSeen(memory.quiet, run.quiet?.what ?? null, seenAt);
    memory.timed = timedNow(memory.timed, run.inFlight, seenAt);
    memory.seenAt = seenAt;
    // The version reaches the queues some time after it became the current one: a look before that
    // changed nothing.
    if (run.isOfOtherVersion && run.task === null) await silent.wake();
    const silentMs = Math.min(silent.silentMs, now - memory.since);
    const taskMs = memory.task === null ? 0 : now - memory.task.since;
    const quietMs = memory.quiet === null ? 0 : now - memory.quiet.since - run.quiet!.forMs;
    const mayBeLost = run.task?.isStarted === false && run.task.attempt === 1 && taskMs >= this.limits.lostMs;
    const isOfOneWorker = mayBeLost && (await this.isOfOneWorker(silent.workflowId, run, memory));
    const { takesTurns, workflowId } = silent;
    const { task } = run;
    const held = task === null ? null : await this.holders.isGone({ workflowId, runId: run.runId, task });
    const lost = takesTurns || run.workers === null ? null : await this.holders.areGone(run.workers);
    if (held !== null || lost !== null) memory.lookAt = Math.min(memory.lookAt, now + LOOK_AT_HELD_MS);
    memory.lookAt = Math.min(memory.lookAt, nextTimeOut(memory, run, this.limits, now));
    const hasForgotten = seenAt >= firstOverstays(memory.timed, this.limits.lostMs);
    const gone = { isHolderGone: held === true, areWorkersGone: lost === true, hasForgotten };
    const facts = { ...run, ...gone, silentMs, taskMs, isOfOneWorker, quietMs, takesTurns };
    const why = whyStuck(facts, this.limits);
    // A process that was stopped since it saw this may not act on it.
    if (why === null || this.stops.wasStoppedSince(seenAt)) return false;
    memory.isUnwoken = true; // also where its end is not confirmed
    await this.end(silent, run, why);
    await this.wake(silent, memory);
    const isGone = gone.isHolderGone || gone.areWorkersGone;
    memory.restMs = nextRestMs(memory.restMs, now - memory.restUntil, isGone ? REST_AFTER_GONE_MS : FIRST_REST_MS);
    memory.restUntil = now + memory.restMs;
    return true;
  }

  /** Says whether the task that no worker takes is for one worker; asks once for each task. */
  private async isOfOneWorker(workflowId: string, { runId, task }: Run, memory: Memory): Promise<boolean> {
    const { scheduledAt } = task!;
    if (memory.oneWorker?.scheduledAt !== scheduledAt) {
      const is = await isForOneWorker(this.options.requests.temporal, { workflowId, runId });
      memory.oneWorker = is === null ? null : { scheduledAt, is };
    }
    return memory.oneWorker?.is ?? false;
  }

  private async end({ type, workflowId, silentMs }: SilentRun, run: Run, reason: string): Promise<void> {
    const why = `stuck: ${reason}; the next run continues from the store`;
    const failure = await this.options.requests
      .send({ kind: 'terminate' }, ({ workflow }) => workflow.getHandle(workflowId, run.runId).terminate(why))
      .then(() => null)
      .catch((error: unknown) => (error instanceof WorkflowNotFoundError ? null : error)); // or it has ended by itself
    const { runId, buildId } = run;
    const version = buildId === '' ? {} : { version: buildId };
    const ended = { type, workflowId, runId, reason, silentMs: Math.round(silentMs), ...version };
    if (failure !== null) {
      this.options.log.warn(
        { ...ended, err: failure },
        'a stuck run was told to end, and the server did not say it has',
      );
      throw failure;
    }
    this.options.log.warn(ended, 'a stuck run was terminated and restarted');
  }

  /** Starts the next run; a wake that failed is repeated at the next look. */
  private async wake(silent: SilentRun, memory: Memory): Promise<void> {
    const failure = await silent.wake();
    if (failure instanceof Error) throw failure;
    memory.isUnwoken = false;
  }

  /** Returns its open run; null: there is none. */
  private async describe(workflowId: string): Promise<Run | null> {
    try {
      const { status, version, activities, ...run } = await askForRun(this.options.requests.temporal, workflowId);
      if (status === FAILED) await this.logFailure(workflowId, run.runId);
      if (status !== RUNNING) return null;
      const buildId = version?.buildId ?? '';
      return {
        ...run,
        buildId,
        isOfOtherVersion:
          buildId !== '' &&
          buildId !== (await this.currents.of(this.options.requests.temporal, version!.deploymentName)),
        activities: activities.length,
        inFlight: activities,
        untaken: activities.filter((activity) => isWaiting(activity) && !isAgain(activity)).length,
        quiet: quietOf(activities),
        workers: workersOf(activities),
      };
    } catch (error) {
      if (isGrpcServiceError(error) && saysNoRun(error)) return null;
      throw error;
    }
  }

  /**
   * Logs the failure of a run: a bug ends it, and the sweeper's wake begins the next; logged once
   * for each.
   */
  private async logFailure(workflowId: string, runId: string): Promise<void> {
    const memory = this.memories.get(workflowId);
    if (memory === undefined || memory.loggedRunId === runId) return;
    memory.loggedRunId = runId;
    const error: unknown = await this.options.requests.temporal.workflow
      .getHandle(workflowId, runId)
      .result()
      .catch((reason: unknown) => (reason instanceof WorkflowFailedError ? reason.cause : reason));
    if (error instanceof ApplicationFailure && error.type === 'Deposed') return;
    this.options.log.warn(
      { err: error, workflowId, runId },
      'the last run of a workflow failed; the next run continues',
    );
  }
}

interface Run extends Omit<DescribedRun, 'status' | 'version' | 'activities'> {
  /** Build id of the version that it is pinned to; empty: none. */
  buildId: string;
  isOfOtherVersion: boolean;
  inFlight: DescribedRun['activities'];
  activities: number;
  untaken: number;
  quiet: Quiet | null;
  /** Those that have its activities. */
  workers: string[] | null;
}
