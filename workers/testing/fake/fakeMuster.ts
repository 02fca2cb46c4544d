import { Context } from '@temporalio/activity';
import type { DataConverter } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import { handlerOf, invalidTask } from '../../../activities/grouping/workflowTasks';
import { InvalidTaskError } from '../../../client/errors';
import { SILENT_LOG } from '../../../handlers/logging/boundLog';
import type { CallLog } from '../../../handlers/contract';
import type { Handler } from '../../../handlers/types';
import type { DeliveryAnswer, TaskEnd, WorkflowSubmitAnswer, WorkflowTask } from '../../../workflows/definitions';
import { lookSignal } from '../../../workflows/definitions';
import { DEFAULT_PREFIX, notifierWorkflowId, workflowTaskQueue } from '../../../workflows/naming';
import { notifierStart } from '../../../workflows/planning/webUi/starts';
import { textOfProblems } from '../../acceptTasks';
import { createLogger } from '../../logging';
import { workflowBundle } from '../../temporal/workflowBundle';
import type { SimulatedCall, SimulatedTask } from '../simulation/views';
import type { TestEnvironment } from './environment';
import { FakeHandler } from './fakeHandler';
import { FakeFanouts } from './fakeFanouts';

export interface FakeMusterOptions {
  /** The handlers that workflows submit to. What they would call is played by their `submit`. */
  handlers: readonly Handler[];
  /** As of the workflows: `submitTask(handler, task, { prefix })`. Default `muster`. */
  prefix?: string;
  /** What handlers log by `context.log` goes there, such as to `console`. Default: nowhere. */
  log?: CallLog;
  /** As of the environment's client and the workflows' worker. */
  dataConverter?: Pick<DataConverter, 'payloadConverterPath' | 'failureConverterPath' | 'payloadCodecs'>;
}

/** Plays Muster for workflows, in the environment's time. */
export class FakeMuster {
  /** Acknowledges items of fan-outs, as what works on them would. */
  readonly fanouts: FakeFanouts;
  private readonly handlers = new Map<string, FakeHandler>();
  private running: Promise<void> = Promise.resolve();
  private worker: Worker | undefined;
  /** The notifier is to look, and has not begun to. */
  private isWoken = false;

  /** @internal */
  constructor(private readonly env: TestEnvironment) {
    this.fanouts = new FakeFanouts(env);
  }

  /** Starts the worker. @internal */
  async start({
    handlers,
    prefix = DEFAULT_PREFIX,
    dataConverter,
    log = SILENT_LOG,
  }: FakeMusterOptions): Promise<void> {
    for (const handler of handlers)
      this.handlers.set(handler.name, await FakeHandler.create(this.env, handler, log, () => this.wake(prefix)));
    this.worker = await Worker.create({
      connection: this.env.nativeConnection,
      taskQueue: workflowTaskQueue(prefix),
      workflowBundle: await workflowBundle({ dataConverter }, createLogger('silent')),
      activities: { ...this.activities(), ...this.fanouts.activities() },
      ...(dataConverter === undefined ? {} : { dataConverter }),
    });
    this.running = this.worker.run();
    this.running.catch(() => undefined); // `stop` says so
  }

  /** Returns the calls that were made of a handler's `submit`, in order; times since the start. */
  calls(handler: string): readonly SimulatedCall[] {
    return this.of(handler).world.calls;
  }

  /** Returns a task as it is now; null: there is none of this id. */
  task(handler: string, id: string): SimulatedTask | null {
    return this.of(handler).world.task(id);
  }

  /** Pauses a handler, or one target of it. */
  pause(handler: string, options: { target?: string; reason?: string } = {}): Promise<void> {
    return this.of(handler).change((world) => world.pause(options));
  }

  /** Lets a handler, or one target of it, go on. */
  resume(handler: string, options: { target?: string } = {}): Promise<void> {
    return this.of(handler).change((world) => world.resume(options));
  }

  /** Makes what waits for a handler, or for one target of it, due at once. */
  flush(handler: string, options: { target?: string } = {}): Promise<void> {
    return this.of(handler).change((world) => world.flush(options));
  }

  /** Stops the worker; before the environment is torn down. */
  async stop(): Promise<void> {
    if (this.worker?.getState() === 'RUNNING') this.worker.shutdown();
    await this.running;
  }

  /**
   * Starts the product's notifier, or tells it to look: its looks do what is due, and its timers
   * make the environment's time skip to what is due next.
   */
  private async wake(prefix: string): Promise<void> {
    if (this.isWoken) return;
    this.isWoken = true;
    await this.env.client.workflow.signalWithStart('notifier', {
      workflowId: notifierWorkflowId(prefix),
      taskQueue: workflowTaskQueue(prefix),
      args: [],
      signal: lookSignal,
      signalArgs: [],
      ...notifierStart(),
    });
  }

  private async look(): Promise<DeliveryAnswer> {
    this.isWoken = false;
    let dueInMs: number | null = null;
    for (const handler of this.handlers.values()) {
      const inMs = await handler.look();
      if (inMs !== null) dueInMs = Math.min(inMs, dueInMs ?? Infinity);
    }
    return { delivered: 0, givenUp: 0, putOff: 0, dueInMs };
  }

  private of(name: string): FakeHandler {
    const handler = this.handlers.get(name);
    if (handler !== undefined) return handler;
    const known = [...this.handlers.keys()].map((one) => `"${one}"`).join(', ');
    throw new Error(`Cannot find the handler: expected one of ${known}, got "${name}". Give it to fakeMuster.`);
  }

  private activities() {
    return {
      deliverNotifications: (): Promise<DeliveryAnswer> => this.look(),
      submitTasks: ({ handler, tasks }: { handler: string; tasks: WorkflowTask[] }): Promise<WorkflowSubmitAnswer> =>
        this.submit(handler, tasks),
      readTaskEnds: async ({ ids }: { ids: string[] }): Promise<TaskEnd[]> =>
        [...this.handlers.values()].flatMap((handler) => handler.endsOf(ids)),
    };
  }

  private async submit(name: string, tasks: readonly WorkflowTask[]): Promise<WorkflowSubmitAnswer> {
    const handler = handlerOf(this.handlers, name, tasks);
    const { workflowId } = Context.current().info.workflowExecution!;
    try {
      return await handler.submit(tasks, workflowId);
    } catch (error) {
      throw error instanceof InvalidTaskError ? invalidTask(textOfProblems(error.problems)) : error;
    }
  }
}

/**
 * Plays Muster in a `TestWorkflowEnvironment` with time skipping, for your own workflows that use
 * `temporal-muster/workflow`: tasks wait, share batches, are retried and end as `simulate` has
 * them, in the environment's time, which skips to each instant at which something is due. Neither
 * Postgres nor a Muster worker is there.
 */
export const fakeMuster = async (env: TestEnvironment, options: FakeMusterOptions): Promise<FakeMuster> => {
  const muster = new FakeMuster(env);
  await muster.start(options);
  return muster;
};
