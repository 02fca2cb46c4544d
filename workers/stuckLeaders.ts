import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Logger } from 'pino';
import { wake } from '../activities/ring';
import type { Pool } from '../postgres/pool';
import type { WokenLeader } from '../postgres/ring';
import { leaderWorkflowId } from '../workflows/naming';

export interface StuckLeadersOptions {
  pool: Pool;
  temporal: Client;
  prefix: string;
  log: Logger;
}

/** A run of a living version takes up its task long before: a dead worker's sticky queue costs 2 s. */
const STUCK_MS = 4_000;
/** Suspected for longer without being stuck, a leader is busy; should it get stuck later, its lease passes again. */
const FORGET_MS = 30_000;
/** `temporal.api.enums.v1`: VERSIONING_BEHAVIOR_PINNED, PENDING_WORKFLOW_TASK_STATE_STARTED. */
const PINNED = 1;
const STARTED = 2;
const PARALLEL = 8;

interface Suspect {
  leader: WokenLeader;
  since: number;
  /** The run seen to wait for a worker of its version, and since when. */
  runId: string | null;
  waitingSince: number;
}

/**
 * With Worker Deployment Versioning a leader's run is pinned to the version that it began with. When the last worker of that version is
 * gone, signals reach the run and nobody takes it up: it waits for ever, and its targets with it. Nothing of it is worth keeping (every fact
 * is in the store, and a run's first turn adopts what it finds), so it is ended and the next run begins on the current version, with
 * today's code and without a replay of yesterday's.
 *
 * Ended is only a run that is pinned to a version other than the deployment's current one, whose task nobody took up for 4 s, and that has no
 * submission in flight: ending it would abort the calls. A mistake (a worker of the old version that is merely slow) costs a run.
 */
export class StuckLeaders {
  private readonly suspects = new Map<number, Suspect>();

  constructor(private readonly options: StuckLeadersOptions) {}

  /** To be looked at: they were told to look, and may not hear it. */
  suspect(leaders: readonly WokenLeader[]): void {
    const since = performance.now();
    for (const leader of leaders)
      if (!this.suspects.has(leader.leaderId))
        this.suspects.set(leader.leaderId, { leader, since, runId: null, waitingSince: since });
  }

  get size(): number {
    return this.suspects.size;
  }

  /** Looks at each of them once and begins the stuck ones anew. To be repeated every second or two. */
  async look(): Promise<void> {
    const queue = [...this.suspects.values()];
    const currents = new Map<string, Promise<string>>();
    const current = (deployment: string): Promise<string> => {
      const known = currents.get(deployment) ?? this.currentBuild(deployment);
      currents.set(deployment, known);
      return known;
    };
    const lane = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await this.lookAt(next, current);
    };
    const lanes = await Promise.allSettled(Array.from({ length: Math.min(PARALLEL, queue.length) }, lane));
    for (const one of lanes) if (one.status === 'rejected') throw one.reason;
  }

  private async lookAt(suspect: Suspect, current: (deployment: string) => Promise<string>): Promise<void> {
    const { leader } = suspect;
    const now = performance.now();
    const run = now - suspect.since > FORGET_MS ? null : await this.pinnedRun(leader);
    if (run === null || run.buildId === (await current(run.deployment))) {
      this.suspects.delete(leader.leaderId);
      return;
    }
    // The version reaches the queues some time after it became the current one: a look before that changed nothing.
    if (run.does === 'nothing') await wake(this.options, [leader]);
    if (run.does !== 'waits' || suspect.runId !== run.runId) {
      suspect.runId = run.does === 'waits' ? run.runId : null;
      suspect.waitingSince = now;
      return;
    }
    if (now - suspect.waitingSince >= STUCK_MS) await this.beginAnew(leader, run);
  }

  private async beginAnew(leader: WokenLeader, run: PinnedRun): Promise<void> {
    const reason = `no worker of version "${run.buildId}" takes it up; the next run goes on with the current version`;
    await this.handleOf(leader, run.runId)
      .terminate(reason)
      .catch((error: unknown) => {
        if (!(error instanceof WorkflowNotFoundError)) throw error; // it has ended by itself
      });
    this.options.log.info({ handler: leader.handler, leader: leader.name, runId: run.runId, version: run.buildId }, 'began a leader anew: no worker of its version takes it up'); // prettier-ignore
    await wake(this.options, [{ ...leader, dueInMs: 0 }]);
    this.suspects.delete(leader.leaderId);
  }

  /** Its open run, if that is pinned. */
  private async pinnedRun(leader: WokenLeader): Promise<PinnedRun | null> {
    try {
      const { raw } = await this.handleOf(leader).describe();
      const { status, versioningInfo, execution } = raw.workflowExecutionInfo ?? {};
      const version = versioningInfo?.deploymentVersion;
      if (status !== 1 || versioningInfo?.behavior !== PINNED || !version) return null;
      const { pendingWorkflowTask: task, pendingActivities } = raw;
      const isWorking = task?.state === STARTED || (pendingActivities?.length ?? 0) > 0;
      return {
        runId: execution!.runId!,
        deployment: version.deploymentName!,
        buildId: version.buildId!,
        does: isWorking ? 'works' : task ? 'waits' : 'nothing',
      };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    }
  }

  private handleOf({ handler, name, leaderId }: WokenLeader, runId?: string) {
    const { temporal, prefix } = this.options;
    return temporal.workflow.getHandle(leaderWorkflowId(prefix, handler, name, leaderId), runId);
  }

  /** Build id of the current version; empty: runs go to workers without versioning. */
  private async currentBuild(deploymentName: string): Promise<string> {
    const { temporal } = this.options;
    const { namespace } = temporal.options;
    const { workerDeploymentInfo } = await temporal.workflowService.describeWorkerDeployment({ namespace, deploymentName }); // prettier-ignore
    return workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? '';
  }
}

interface PinnedRun {
  runId: string;
  deployment: string;
  buildId: string;
  /** `works`: somebody is at its task, or a submission is in flight; `waits`: nobody has taken up its task. */
  does: 'works' | 'waits' | 'nothing';
}
