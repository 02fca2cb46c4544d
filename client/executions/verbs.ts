import { randomUUID } from 'node:crypto';
import { wakeExecutions } from '../../workflows/wake';
import { isUuid } from './check';
import type { ExecuteOptions, Template } from './check';
import { InvalidArgumentError } from '../errors';
import type { ArgumentLists } from './execute';
import { storeExecution } from './execute';
import { Execution, executions } from './handle';
import type { ExecutionView } from './views';
import { NodeVerbs } from '../nodes/verbs';
import { executing, telling } from '../tasks/telling';

/** A client's verbs for executions: one function, many argument lists, split over nodes. */
export abstract class ExecutionVerbs extends NodeVerbs {
  /**
   * Runs a function once for each argument list, on the nodes that can. Resolves at once, when the
   * list is stored: the handle's id is the request's. Lists may come as a stream of any length up
   * to 10,000,000; no part of a list that breaks off is run.
   */
  async execute(template: Template, argumentLists: ArgumentLists, options: ExecuteOptions = {}): Promise<Execution> {
    const requestId = options.requestId ?? randomUUID();
    const { id } = await telling(executing(requestId), async () => {
      await this.ready();
      return storeExecution(this.pool, template, argumentLists, { ...options, requestId });
    });
    // Accepted: if its workflow cannot be started now, nothing fails, and the sweeper starts it
    // within seconds.
    await this.wake((temporal) => wakeExecutions(temporal, this.prefix, [id]));
    return new Execution(this, id);
  }

  /** Returns a handle on an execution by its id; its methods report if there is none. */
  execution(id: string): Execution {
    if (!isUuid(id)) throw new InvalidArgumentError('execution', 'a uuid', id);
    return new Execution(this, id.toLowerCase());
  }

  /** Returns executions, newest first, at most `limit` (default 20, most 1,000). */
  executions({ limit = 20 }: { limit?: number } = {}): Promise<ExecutionView[]> {
    if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
      throw new InvalidArgumentError('limit', 'a whole number from 1 to 1,000', limit);
    return executions(this, limit);
  }
}
