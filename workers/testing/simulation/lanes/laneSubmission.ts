import type { TaskProblem } from '../../../../client/errors';
import { InvalidTaskError } from '../../../../client/errors';
import type { BatchInput } from '../../../../client/lanes/checkBatch';
import { storeBatches } from '../../../../client/lanes/submitBatch';
import type { TaskInput } from '../../../../client/tasks/checkTasks';
import { checkTask } from '../../../../client/tasks/checkTasks';
import { TaskInserter } from '../../../../client/tasks/taskInserter';
import type { Handler } from '../../../../handlers/types';
import type { Pool } from '../../../../postgres/pool';
import type { Tables } from '../tables';

/** A batch that a lane of a simulated world has accepted. */
export interface SimulatedSubmit {
  /** Number of the batch, as in `world.batches`. */
  batch: number;
  service: string;
  /** False: exactly these items had already been submitted as this batch. */
  accepted: boolean;
}

/** Accepts work of lanes in a simulated store, by the client's own submits. */
export class LaneSubmission {
  readonly inserter: TaskInserter;

  constructor(
    private readonly tables: Tables,
    private readonly handler: Handler,
    pool: Pool,
  ) {
    this.inserter = new TaskInserter(pool);
  }

  async accept(tasks: readonly TaskInput[]): Promise<void> {
    const problems: TaskProblem[] = [];
    const checked = tasks.flatMap((task, index) => checkTask(this.handler, task, index, problems) ?? []);
    if (problems.length > 0) throw new InvalidTaskError(problems);
    const { laneIds } = await this.inserter.store(this.handler, checked, { partial: false });
    this.ring(laneIds);
  }

  async acceptBatches(batches: readonly BatchInput[]): Promise<SimulatedSubmit[]> {
    const context = { inserter: this.inserter, schema: '', hooks: undefined };
    const stored = await storeBatches(context, this.handler, batches, {});
    this.ring(stored.laneIds);
    return stored.batches.map(({ batch, service, accepted }) => ({ batch, service, accepted }));
  }

  ring(laneIds: Iterable<number>): void {
    for (const id of laneIds) this.tables.lanes.lane(id).ready = true;
  }
}
