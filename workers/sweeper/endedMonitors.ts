import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { Logger } from 'pino';
import { completionWorkflowId, handlerOfMonitor, monitorWorkflowId, workflowTaskQueue } from '../../workflows/naming';
import { completionStart } from '../../workflows/planning/webUi/starts';
import type { Requests } from '../../workflows/temporal/requests';
import { WAKE_DEADLINE_MS } from '../../workflows/temporal/requests';
import { listRuns } from '../temporal/listRuns';
import type { SweepCounts } from './counts';

interface Options {
  requests: Requests;
  prefix: string;
  log: Pick<Logger, 'warn'>;
}

const LOOK_MS = 10_000;
/** How far a process looks back at its start: a server keeps an ended run at least that long. */
const FIRST_MS = 24 * 3_600_000;
/**
 * How far a look reaches back before the last whole one: clocks differ, and a server lists an ended
 * run with a delay.
 */
const LATER_MS = 600_000;
const MOST_LISTED = 100;

/**
 * Finds runs of monitors that did not end by themselves (a server's limit, an operator, a bug, the
 * sweeper) and has the signals that were not taken yet read from their histories: by a workflow of
 * type `completion`, one for each such run, which the server remembers.
 */
export class EndedMonitors {
  private readonly seen = new Map<string, number>();
  private lookAt = 0;
  /** When the last look began that read everything (Unix milliseconds); null: none did yet. */
  private wholeAt: number | null = null;

  constructor(private readonly options: Options) {}

  /** Looks for such runs. To be repeated every few seconds; asks the server now and then. */
  async look(counts: Pick<SweepCounts, 'endedMonitors'>): Promise<void> {
    const now = performance.now();
    if (now < this.lookAt) return;
    this.lookAt = now + LOOK_MS;
    for (const [runId, at] of this.seen) if (now - at > 2 * FIRST_MS) this.seen.delete(runId);
    const { requests, prefix, log } = this.options;
    const beganAt = Date.now();
    const agoMs = this.wholeAt === null ? FIRST_MS : Math.max(0, beganAt - this.wholeAt); // a clock may be set back
    const reachMs = Math.min(FIRST_MS, agoMs + LATER_MS);
    const since = new Date(beganAt - reachMs).toISOString();
    const query =
      `WorkflowType = 'monitor' AND WorkflowId STARTS_WITH '${monitorWorkflowId(prefix, '')}' AND ` +
      `ExecutionStatus IN ('Terminated', 'Failed', 'TimedOut', 'Canceled') AND CloseTime > '${since}'`;
    let left = MOST_LISTED;
    const until = now + WAKE_DEADLINE_MS; // each start has as long: other steps wait meanwhile
    for await (const { workflowId, runId, status } of listRuns(requests.temporal, query, MOST_LISTED)) {
      const handler = handlerOfMonitor(workflowId);
      if (handler === null || this.seen.has(runId)) continue;
      if (left-- === 0 || performance.now() > until) return; // the next look goes on
      if (await this.read(handler, runId)) {
        counts.endedMonitors++;
        log.warn(
          { handler, workflowId, runId, status },
          'a monitor did not complete: the completions signalled to it are read from its history',
        );
      }
      this.seen.set(runId, now);
    }
    this.wholeAt = beganAt;
  }

  /** Starts the reading; false: another process has. */
  private async read(handler: string, endedMonitor: string): Promise<boolean> {
    const { requests, prefix } = this.options;
    const options = {
      workflowId: completionWorkflowId(prefix, handler, `of-${endedMonitor}`),
      taskQueue: workflowTaskQueue(prefix),
      args: [{ handler, endedMonitor }],
      workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
      ...completionStart(handler, null),
    };
    try {
      await requests.send({ kind: 'completion', handler }, ({ workflow }) => workflow.start('completion', options));
      return true;
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
      throw error;
    }
  }
}
