import type { Contract } from '../../../handlers/types';
import type { TaskProblem } from '../../errors';
import type { CheckedTask, TaskInput } from '../checkTasks';
import { checkTask } from '../checkTasks';

/** Checks the tasks of one call in their order, each once, as far as is asked. */
export class Checks {
  /** Those that passed every check. */
  readonly checked: CheckedTask[] = [];
  readonly problems: TaskProblem[] = [];
  /** Number of tasks of the call. */
  readonly given: number;
  private seen = 0;
  private readonly tasks: readonly TaskInput[];

  constructor(
    private readonly handler: Contract,
    tasks: readonly TaskInput[],
  ) {
    this.given = tasks.length;
    this.tasks = tasks.slice(); // the caller may go on using its array
  }

  /** Checks up to `more` further tasks. */
  check(more: number): void {
    const until = Math.min(this.given, this.seen + more);
    while (this.seen < until) {
      const task = checkTask(this.handler, this.tasks[this.seen], this.seen, this.problems);
      this.seen++;
      if (task !== null) this.checked.push(task);
    }
  }
}
