import { randomBytes, randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { WorkerOptions } from '@temporalio/worker';
import pino from 'pino';
import { deploymentOptions } from '../../workers/temporal/taskWorkers';
import type { SilentRun } from '../../workers/sweeper/stuckRuns';
import { StuckRuns } from '../../workers/sweeper/stuckRuns';
import { WORKFLOW_FAILURES } from '../../workers/temporal/workflowFailures';
import type * as product from '../../workflows';
import {
  balancerWorkflowId,
  executionWorkflowId,
  handlerTaskQueue,
  leaderWorkflowId,
  monitorWorkflowId,
  notifierWorkflowId,
  queuerWorkflowId,
} from '../../workflows/naming';
import * as wakes from '../../workflows/wake';
import { temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import '../helpers/muster';
import { prebuiltBundle } from '../helpers/prebuilt';
import { bundleWorkflows } from '../helpers/userWorker';

/**
 * A type of workflow as the tests of all types see it: who it is, how the sweeper wakes it, and the
 * activity that a turn of it begins with.
 */
interface Kind {
  id: (prefix: string) => string;
  wake: (temporal: Client, prefix: string) => Promise<Error | null>;
  activity: string;
  /** Answered by it: nothing to do for an hour. */
  rest: object;
  takesTurns: boolean;
}

const HOUR_MS = 3_600_000;
const EXECUTION = '11111111-2222-4333-8444-555555555555';
const waits = { deposed: false, epoch: 1, again: false, next: 'waiting', dueInMs: HOUR_MS, heldBy: null };
const leader = { leaderId: 7, handler: 'orders', name: '0', dueInMs: 0 };
const turns = { takesTurns: true };
/**
 * Types that end with what they were started for, so that nobody wakes them: each has tests of its
 * own in everyType.test.ts.
 */
export const ONE_SHOT = ['completion'] as const satisfies readonly (keyof typeof product)[];
/** By type: another workflow does not compile without its line here. */
const KINDS: Record<Exclude<keyof typeof product, (typeof ONE_SHOT)[number]>, Kind> = {
  leader: {
    ...turns,
    id: (prefix) => leaderWorkflowId(prefix, 'orders', '0', 7),
    wake: (temporal, prefix) => wakes.wakeLeaderWorkflows(temporal, prefix, [leader]),
    activity: 'claimBatches',
    rest: { ...waits, dispatch: null, lastReason: null },
  },
  queuer: {
    ...turns,
    id: (prefix) => queuerWorkflowId(prefix, 0),
    wake: (temporal, prefix) => wakes.wakeQueuerWorkflows(temporal, prefix, [{ queuerId: 0 }]),
    activity: 'grantLanes',
    rest: { ...waits, submitters: [] },
  },
  balancer: {
    ...turns,
    id: balancerWorkflowId,
    wake: wakes.wakeBalancer,
    activity: 'balancePartitions',
    rest: { epoch: 1, partitions: 0, nodes: 0, held: 0, waiting: 1, moved: 0, last: [], dueInMs: HOUR_MS },
  },
  execution: {
    ...turns,
    id: (prefix) => executionWorkflowId(prefix, EXECUTION),
    wake: (temporal, prefix) => wakes.wakeExecutions(temporal, prefix, [EXECUTION]),
    activity: 'rollCall',
    rest: {
      next: 'no-nodes',
      chunks: [],
      planned: false,
      counts: { created: 1, inProgress: 0, done: 0, failed: 0, permanentlyFailed: 0 },
      round: 0,
      note: null,
      dueInMs: null,
      settings: { rollCallMs: HOUR_MS, requeueMs: HOUR_MS, retryBaseMs: HOUR_MS, leaseMs: HOUR_MS },
    },
  },
  monitor: {
    takesTurns: false,
    id: (prefix) => monitorWorkflowId(prefix, 'orders'),
    wake: (temporal, prefix) => wakes.wakeMonitor(temporal, prefix, 'orders'),
    activity: 'pollAccepted',
    rest: { asked: 0, settled: 0, dueInMs: HOUR_MS },
  },
  notifier: {
    takesTurns: false,
    id: notifierWorkflowId,
    wake: wakes.wakeNotifier,
    activity: 'deliverNotifications',
    rest: { delivered: 0, givenUp: 0, putOff: 0, dueInMs: HOUR_MS },
  },
};
export type Type = keyof typeof KINDS;
export const TYPES = Object.keys(KINDS) as Type[];

/** Scaled down, as are the times of the tests. */
const LIMITS = { versionMs: 500, silentMs: 2_000, attempts: 2 };

let otherCode: Promise<string> | null = null;
/** The workflows of another version: `incompatible` or `broken`. */
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
  private readonly stuck: StuckRuns;
  private readonly stops = new Set<() => Promise<void>>();

  private constructor(
    readonly temporal: Client,
    readonly connection: NativeConnection,
  ) {
    const log = pino(
      { level: 'warn' },
      { write: (line: string) => void this.warnings.push(JSON.parse(line) as Record<string, unknown>) },
    );
    this.stuck = new StuckRuns({ pool: undefined as never, temporal, prefix: this.prefix, log, stuck: LIMITS });
  }

  static async open(address = temporalAddress()): Promise<TypeWorld> {
    const client = new Client({ connection: await Connection.connect({ address }) });
    return new TypeWorld(client, await NativeConnection.connect({ address }));
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

  /** A process of this version, of the product's code by default; answers how to stop it. */
  async worker(
    name: string,
    {
      bundle = prebuiltBundle,
      versioned = false,
      serves = true,
    }: { bundle?: WorkerOptions['workflowBundle']; versioned?: boolean; serves?: boolean } = {},
  ): Promise<() => Promise<void>> {
    const activities = {
      ...Object.fromEntries(TYPES.map((type) => [KINDS[type].activity, () => this.answer(type, name)])),
      knowsHandler: () => Promise.resolve(true),
      completeAccepted: () => Promise.resolve({ kind: 'completed', batch: 1, by: name }),
    };
    const common = { connection: this.connection, identity: name, activities };
    const workers = await Promise.all([
      Worker.create({
        ...common,
        ...WORKFLOW_FAILURES,
        taskQueue: this.prefix,
        workflowBundle: bundle,
        stickyQueueScheduleToStartTimeout: 1_000,
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

  private answer(type: Type, name: string): Promise<object> {
    this.turns[type]++;
    this.answeredBy[type] = name;
    const rest = JSON.stringify(KINDS[type].rest).replaceAll(`${HOUR_MS}`, `${this.restMs}`);
    return Promise.resolve(JSON.parse(rest) as object);
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
    const wake = (): Promise<Error | null> => KINDS[type].wake(this.temporal, this.prefix);
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
    return { type, workflowId, silentMs, takesTurns, wake: () => wake(this.temporal, this.prefix) };
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

  /** Starts it as somebody does who does not know its input. */
  async start(type: Type, args: unknown[]): Promise<void> {
    await this.temporal.workflow.start(type, { workflowId: KINDS[type].id(this.prefix), taskQueue: this.prefix, args });
  }

  /** Begins the run anew at its first workflow task, as an operator's reset does. */
  async reset(type: Type): Promise<void> {
    // A local activity answers before the workflow task that it belongs to is completed.
    const first = await eventually(
      async () => {
        const { events } = await this.handle(type).fetchHistory();
        return events!.find((event) => event.workflowTaskCompletedEventAttributes != null);
      },
      { what: `the first completed workflow task of the ${type}` },
    );
    await this.temporal.workflowService.resetWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: KINDS[type].id(this.prefix) },
      workflowTaskFinishEventId: first.eventId!,
      requestId: randomUUID(),
      reason: 'an operator',
    });
  }
}
