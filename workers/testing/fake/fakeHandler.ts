import { WorkflowNotFoundError } from '@temporalio/client';
import { partsOf } from '../../../activities/callbacks/message';
import type { CallLog } from '../../../handlers/contract';
import type { Handler } from '../../../handlers/types';
import type { TaskEnd, WorkflowSubmitAnswer, WorkflowTask } from '../../../workflows/definitions';
import { tasksEndedSignal } from '../../../workflows/definitions';
import { simulate } from '../simulate';
import type { SimulatedTask } from '../simulation/views';
import type { World } from '../simulation/world';
import type { TestEnvironment } from './environment';

/** Bytes of one message to a workflow; a server takes 2 MB. */
const MESSAGE_BYTES = 1_000_000;

/**
 * One handler of a fake Muster: a simulated world that keeps the environment's time.
 */
export class FakeHandler {
  /** Workflows to be told of the end of a task, by its id. */
  private readonly owners = new Map<string, string>();
  private readonly told = new Set<string>();
  private working: Promise<unknown> = Promise.resolve();

  private constructor(
    readonly world: World,
    private readonly env: TestEnvironment,
    private readonly name: string,
    private readonly onChange: () => Promise<void>,
  ) {}

  /** `onChange`: called after each change, which may have made something due. */
  static async create(
    env: TestEnvironment,
    handler: Handler,
    log: CallLog,
    onChange: () => Promise<void>,
  ): Promise<FakeHandler> {
    const world = simulate(handler, { startMs: await env.currentTimeMs(), log });
    return new FakeHandler(world, env, handler.name, onChange);
  }

  /** Accepts tasks of a workflow, as the activity `submitTasks` does. */
  submit(tasks: readonly WorkflowTask[], workflowId: string): Promise<WorkflowSubmitAnswer> {
    return this.inTime(async () => {
      const ids = tasks.map((task) => task.id);
      await this.world.submit(tasks);
      for (const id of ids) if (!this.owners.has(id)) this.owners.set(id, workflowId);
      const ends = this.endsOf(ids);
      // With the answer, and not by a message that meets it: the test server takes badly to that.
      for (const { id } of ends) if (this.owners.get(id) === workflowId) this.told.add(id);
      const isForeign = (id: string): boolean => this.owners.get(id) !== workflowId;
      return { ends, foreign: ids.filter((id) => isForeign(id) && !ends.some((end) => end.id === id)) };
    });
  }

  /** Returns the ends of those of the tasks that have ended or are parked. */
  endsOf(ids: readonly string[]): TaskEnd[] {
    return ids.flatMap((id) => {
      const task = this.world.task(id);
      return task === null || !hasEnd(task) ? [] : [endOf(task)];
    });
  }

  /** Brings the world to the environment's time, and changes something in it. */
  change(work: (world: World) => Promise<void> | void): Promise<void> {
    return this.inTime(async () => work(this.world));
  }

  /**
   * Does what is due, tells workflows of it, and returns when the next thing is; null: nothing is.
   */
  look(): Promise<number | null> {
    return this.oneByOne(async () => {
      const nowMs = await this.follow();
      await this.tell();
      const atMs = this.world.nextAtMs();
      return atMs === Infinity ? null : Math.max(1, Math.ceil(atMs - nowMs));
    });
  }

  private async inTime<T>(work: () => Promise<T>): Promise<T> {
    const done = await this.oneByOne(async () => {
      await this.follow();
      return work();
    });
    await this.onChange();
    return done;
  }

  private oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const next = this.working.then(work);
    this.working = next.catch(() => undefined);
    return next;
  }

  private async follow(): Promise<number> {
    const nowMs = await this.env.currentTimeMs();
    await this.world.advanceTo(nowMs);
    return nowMs;
  }

  /** Tells workflows of ends that they were not told of yet. */
  private async tell(): Promise<void> {
    const byOwner = new Map<string, TaskEnd[]>();
    for (const task of this.world.tasks) {
      const owner = this.owners.get(task.id);
      if (owner === undefined || this.told.has(task.id) || !hasEnd(task)) continue;
      byOwner.set(owner, [...(byOwner.get(owner) ?? []), endOf(task)]);
    }
    for (const [workflowId, tasks] of byOwner) {
      const message = { handler: this.name, target: '', batch: null, tasks };
      for (const part of partsOf(message, MESSAGE_BYTES)) await this.signal(workflowId, part);
      for (const { id } of tasks) this.told.add(id);
    }
  }

  private async signal(workflowId: string, message: Parameters<typeof partsOf>[0]): Promise<void> {
    try {
      await this.env.client.workflow.getHandle(workflowId).signal(tasksEndedSignal, message);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error; // it did not wait for the end
    }
  }
}

const hasEnd = ({ state, endedAtMs }: SimulatedTask): boolean => endedAtMs !== null || state === 'unknown';

const endOf = ({ id, state, result, error }: SimulatedTask): TaskEnd => ({
  id,
  state: state as TaskEnd['state'],
  ...(result === undefined ? {} : { result }),
  ...(error === null ? {} : { error }),
});
