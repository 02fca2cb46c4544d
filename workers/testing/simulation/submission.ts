import { workOffEnded } from '../../../activities/grouping/dependents';
import type { TaskProblem } from '../../../client/errors';
import { InvalidTaskError } from '../../../client/errors';
import type { CheckedTask, TaskInput } from '../../../client/tasks/checkTasks';
import { checkTask } from '../../../client/tasks/checkTasks';
import { conflict, sameJson } from '../../../client/tasks/repeats';
import { dependencyProblem } from '../../../client/tasks/storeDependents';
import type { Handler } from '../../../handlers/types';
import type { Pool } from '../../../postgres/pool';
import { orderDependents } from '../../../workflows/planning/grouping/dependencies';
import type { Tables } from './tables';
import type { TaskRow } from './rows';

/** Accepts tasks in a simulated store as the client does: all of them, or none. */
export class Submission {
  constructor(
    private readonly tables: Tables,
    private readonly handler: Handler,
    private readonly pool: Pool,
  ) {}

  async accept(tasks: readonly TaskInput[]): Promise<void> {
    const { tables } = this;
    const checked = this.checked(tasks);
    // In the order in which a submit registers them.
    for (const key of checked.map(({ target }) => target).sort()) tables.target(key);
    const planned = orderDependents(checked, (id) => tables.tasks.has(id));
    if (planned.problems.length > 0)
      throw new InvalidTaskError(
        planned.problems.map((problem) => dependencyProblem(checked[problem.index]!, problem)),
      );
    const ordered = planned.order.map((index) => checked[index]!);
    const isFree = ({ dependsOn }: CheckedTask): boolean => dependsOn.length === 0;
    for (const task of ordered.filter(isFree).sort((a, b) => a.index - b.index)) this.place(task, this.insert(task));
    for (const task of ordered.filter((one) => !isFree(one))) this.hold(task, this.insert(task));
    if (tables.ended.length > 0) await workOffEnded(this.pool);
  }

  private checked(tasks: readonly TaskInput[]): CheckedTask[] {
    const problems: TaskProblem[] = [];
    const checked = tasks.map((task, index) => checkTask(this.handler, task, index, problems));
    const fresh = new Map<string, CheckedTask>();
    for (const task of checked) {
      if (task === null) continue;
      if (task.expiresAtMs !== null)
        throw new Error('Cannot simulate expiresAt: expected none. Test it with startMuster.');
      const other = this.tables.tasks.get(task.id) ?? fresh.get(task.id);
      if (other === undefined) fresh.set(task.id, task);
      else if (!sameJson(other.payload, task.payload))
        problems.push(conflict(task, 'a task that was submitted before'));
    }
    if (problems.length > 0) throw new InvalidTaskError(problems);
    return [...fresh.values()];
  }

  /** Members are listed one by one: a row begun by a spread is slow to make, and to read. */
  private insert({ id, payload, target, bytes, weight, key, priority }: CheckedTask): TaskRow {
    const { tables } = this;
    const row: TaskRow = {
      id,
      payload,
      target: tables.target(target),
      bytes,
      weight: weight ?? 1,
      key,
      priority,
      seq: tables.nextSeq(),
      createdAtMs: tables.nowMs,
      readyAtMs: tables.nowMs,
      notBeforeMs: 0,
      attempts: 0,
      place: 'held',
      batch: null,
      sets: null,
      end: null,
    };
    tables.tasks.set(id, row);
    tables.bySeq.set(row.seq, row);
    return row;
  }

  private place({ notBeforeMs }: CheckedTask, row: TaskRow): void {
    const { tables } = this;
    if (notBeforeMs !== null && notBeforeMs > tables.nowMs) tables.delay(row, notBeforeMs);
    else tables.enqueue(row, tables.nowMs);
  }

  /** Holds a task until what it depends on has ended, which may be so already. */
  private hold({ dependsOn, runsAnyway, notBeforeMs }: CheckedTask, row: TaskRow): void {
    const { tables } = this;
    row.notBeforeMs = notBeforeMs ?? 0;
    const needed = dependsOn.map((id) => tables.tasks.get(id)!);
    for (const [place, { seq, id }] of needed.entries())
      tables.needs.push({ seq: row.seq, needs: seq, needsId: id, place, run: runsAnyway, state: null });
    for (const one of needed) tables.noteEnded(one);
  }
}
