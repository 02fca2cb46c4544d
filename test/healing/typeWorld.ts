import { randomBytes, randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import type { WorkflowOptions } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { WorkerOptions } from '@temporalio/worker';
import pino from 'pino';
import { refusedWhileStopping } from '../../activities/refuseTurns';
import { deploymentOptions } from '../../workers/temporal/taskWorkers';
import type { SilentRun } from '../../workers/sweeper/stuckRuns';
import { StuckRuns } from '../../workers/sweeper/stuckRuns';
import { WORKFLOW_FAILURES } from '../../workers/temporal/workflowFailures';
import type { TurnInput } from '../../workflows/messages';
import { handlerTaskQueue } from '../../workflows/naming';
import { connectTo, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import '../helpers/muster';
import { prebuiltBundle } from '../helpers/prebuilt';
import { bundleWorkflows } from '../helpers/userWorker';
import { NO_ALARMS } from '../workflows/alarms/noAlarms';
import type { Type } from './kinds';
import { HOUR_MS, KINDS, TYPES } from './kinds';
import { Requests } from '../../workflows/temporal/requests';

/** Scaled down, as are the times of the tests. */
const LIMITS = { versionMs: 500, silentMs: 2_000, attempts: 2 };
/** Of a sweeper that ends no run while a test lasts. */
export const PATIENT = { ...LIMITS, silentMs: 600_000, attempts: 1_000 };

const LONG_POLL_MS = 60_000;

let otherCode: Promise<string> | null = null;
/** The workflows of another version of those in otherVersion.ts. */
export const otherVersion = async (version: string): Promise<{ code: string }> => {
  otherCode ??= bundleWorkflows(require.resolve('./otherVersion')).then(({ code }) => code);
  return { code: (await otherCode).replaceAll('__VERSION__', version) };
};

/**
 * Every type of workflow on the run's real server, its activities answered by the test; workers
 * come and go.
 */
export class TypeWorld {
  readonly prefix = `types-${randomBytes(5).toString('hex')}`;
  /** Turns so far, by type, and by whom the last was answered. */
  readonly turns = Object.fromEntries(TYPES.map((type) => [type, 0])) as Record<Type, number>;
  readonly answeredBy = {} as Record<Type, string>;
  readonly warnings: Record<string, unknown>[] = [];
  /** Between two turns of a workflow that nobody wakes. */
  restMs = HOUR_MS;
  /** So many tries to take a completion fail. */
  unavailable = 0;
  /** So many turns of each type want another one at once. */
  busyTurns = 0;
  /** Number of the last turn of each run that takes turns. */
  readonly lastTurnOf = new Map<string, number>();
  private readonly stuck: StuckRuns;
  private readonly stops = new Set<() => Promise<void>>();

  private constructor(
    readonly temporal: Client,
    readonly connection: NativeConnection,
    stuck: typeof LIMITS,
  ) {
    const log = pino(
      { level: 'warn' },
      { write: (line: string) => void this.warnings.push(JSON.parse(line) as Record<string, unknown>) },
    );
    this.stuck = new StuckRuns({
      pool: undefined as never,
      requests: new Requests(temporal),
      prefix: this.prefix,
      node: 'sweeper',
      log,
      stuck,
    });
  }

  static async open(address = temporalAddress(), limits = LIMITS): Promise<TypeWorld> {
    const client = new Client({ connection: await connectTo({ address }) });
    return new TypeWorld(client, await NativeConnection.connect({ address }), limits);
  }

  async close(): Promise<void> {
    for (const stop of [...this.stops]) await stop();
    for (const type of TYPES)
      await this.handle(type)
        .terminate()
        .catch(() => undefined);
    await this.temporal.connection.close();
    await this.connection.close();
  }

  handle(type: Type) {
    return this.temporal.workflow.getHandle(KINDS[type].id(this.prefix));
  }

  /** Of the run that is open now, whichever comes after it. */
  async openRun(type: Type) {
    const { runId } = await this.handle(type).describe();
    const run = this.temporal.workflow.getHandle(KINDS[type].id(this.prefix), runId);
    return {
      runId,
      describe: () => run.describe(),
      history: async () => (await run.fetchHistory()).events ?? [],
    };
  }

  /** A process of this version, of the product's code by default; answers how to stop it. */
  async worker(
    name: string,
    {
      bundle = prebuiltBundle,
      versioned = false,
      serves = true,
      draining = new AbortController().signal,
    }: {
      bundle?: WorkerOptions['workflowBundle'];
      versioned?: boolean;
      serves?: boolean;
      /** Aborted: it refuses turns, as the product's workers do while they stop. */
      draining?: AbortSignal;
    } = {},
  ): Promise<() => Promise<void>> {
    const activities = {
      ...Object.fromEntries(
        TYPES.map((type) => {
          const answer = (input?: TurnInput): Promise<object> => this.answer(type, name, input);
          return [
            KINDS[type].activity,
            KINDS[type].more === null ? answer : refusedWhileStopping({ draining }, answer),
          ];
        }),
      ),
      knowsHandler: () => Promise.resolve(true),
      completeAccepted: () =>
        this.unavailable-- > 0
          ? Promise.reject(new Error('the store is unavailable'))
          : Promise.resolve({ kind: 'completed', batch: 1, by: name }),
    };
    const common = { connection: this.connection, identity: name, activities };
    const workers = await Promise.all([
      Worker.create({
        ...common,
        ...WORKFLOW_FAILURES,
        taskQueue: this.prefix,
        workflowBundle: bundle,
        stickyQueueScheduleToStartTimeout: 1_000,
        sinks: NO_ALARMS,
        ...(versioned
          ? { workerDeploymentOptions: deploymentOptions({ deploymentName: this.prefix, buildId: name }) }
          : {}),
      }),
      ...(serves ? [Worker.create({ ...common, taskQueue: handlerTaskQueue(this.prefix, 'orders') })] : []),
    ]);
    const running = Promise.all(workers.map((worker) => worker.run()));
    const stop = async (): Promise<void> => {
      if (!this.stops.delete(stop)) return;
      for (const worker of workers) worker.shutdown();
      await running;
    };
    this.stops.add(stop);
    return stop;
  }

  private answer(type: Type, name: string, { runId, turn }: Partial<TurnInput> = {}): Promise<object> {
    const { rest, more } = KINDS[type];
    this.turns[type]++;
    this.answeredBy[type] = name;
    if (runId !== undefined && turn !== undefined) this.lastTurnOf.set(runId, turn);
    const answer = JSON.parse(JSON.stringify(rest).replaceAll(`${HOUR_MS}`, `${this.restMs}`)) as object;
    return Promise.resolve(this.turns[type] <= this.busyTurns ? { ...answer, ...more } : answer);
  }

  /** Every type has an open run that waits for an hour. */
  async allWait(): Promise<void> {
    await Promise.all(TYPES.map((type) => this.takesTurn(type)));
  }

  /**
   * As the sweeper: wakes, and looks at who stays silent, until the workflow takes a turn (by
   * `name`, if one is given).
   */
  async takesTurn(type: Type, name?: string): Promise<void> {
    const before = this.turns[type];
    const since = performance.now();
    const wake = (): Promise<Error | null> => KINDS[type].wake(new Requests(this.temporal), this.prefix);
    let wokenAt = -Infinity;
    await eventually(
      async () => {
        if (performance.now() - wokenAt > 1_500) {
          wokenAt = performance.now();
          const failure = await wake();
          if (failure !== null) throw failure;
        }
        await this.look(type, performance.now() - since);
        return this.turns[type] > before && (name === undefined || this.answeredBy[type] === name);
      },
      { timeoutMs: 90_000, everyMs: 250, what: `a turn of the ${type}${name === undefined ? '' : ` by ${name}`}` },
    );
  }

  /** The sweeper's look at who stays silent. */
  look(type: Type, silentMs = 0): Promise<void> {
    return this.stuck.look([this.silent(type, silentMs)]);
  }

  private silent(type: Type, silentMs: number): SilentRun {
    const { id, wake, takesTurns } = KINDS[type];
    const workflowId = id(this.prefix);
    return { type, workflowId, silentMs, takesTurns, wake: () => wake(new Requests(this.temporal), this.prefix) };
  }

  /** A message that no worker of ours can decode: of another data converter, or through a codec. */
  async signalUndecodable(type: Type): Promise<void> {
    await this.temporal.workflowService.signalWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: KINDS[type].id(this.prefix) },
      signalName: 'look',
      input: { payloads: [{ metadata: { encoding: Buffer.from('binary/encrypted') }, data: Buffer.from('?') }] },
      requestId: randomUUID(),
    });
  }

  /** Starts a completion: one run, about one batch. */
  tell(told: unknown[] = [{ handler: 'orders', reference: 'job-1', results: [] }]) {
    const workflowId = `${this.prefix}/completion/job-1`;
    return this.temporal.workflow.start('completion', { workflowId, taskQueue: this.prefix, args: told });
  }

  /** Starts it as somebody does who does not know its input. */
  async start(type: Type, args: unknown[], more: Partial<WorkflowOptions> = {}): Promise<void> {
    const workflowId = KINDS[type].id(this.prefix);
    await this.temporal.workflow.start(type, { workflowId, taskQueue: this.prefix, args, ...more });
  }

  /**
   * Takes so many workflow tasks, and answers none: as workers that are stopped in the middle of
   * them.
   */
  async takeAndStop(tasks: number): Promise<void> {
    const { connection, workflowService } = this.temporal;
    const poll = { namespace: 'default', taskQueue: { name: this.prefix }, identity: 'stopped' };
    const take = () => workflowService.pollWorkflowTaskQueue(poll);
    for (let taken = 0; taken < tasks;) {
      const { taskToken } = await connection.withDeadline(Date.now() + LONG_POLL_MS, take);
      if (taskToken.length > 0) taken++;
    }
  }

  /** Begins the run anew at its first workflow task, as an operator's reset does. */
  async reset(workflowId: string): Promise<void> {
    // A local activity answers before the workflow task that it belongs to is completed.
    const first = await eventually(
      async () => {
        const { events } = await this.temporal.workflow.getHandle(workflowId).fetchHistory();
        return events!.find((event) => event.workflowTaskCompletedEventAttributes != null);
      },
      { what: `the first completed workflow task of ${workflowId}` },
    );
    await this.temporal.workflowService.resetWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId },
      workflowTaskFinishEventId: first.eventId!,
      requestId: randomUUID(),
      reason: 'an operator',
    });
  }
}
