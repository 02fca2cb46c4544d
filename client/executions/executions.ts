import { randomUUID } from 'node:crypto';
import { wakeExecutions } from '../../workflows/wake';
import { checkWhole } from '../arguments';
import type { Connection } from '../connection';
import { InvalidArgumentError } from '../errors';
import { executing } from '../tasks/failureTexts';
import { AcceptedExecution, askAnswer } from './accepted';
import type { ExecuteOptions, Template } from './check';
import type { ArgumentLists } from './execute';
import { storeExecution } from './execute';
import type { ExecutionFilter } from './handle';
import { Execution, executions } from './handle';
import type { ExecutionView } from './views';
import { PAGE_MAX } from '../../workflows/planning/pages';
import { isUuid } from '../../workflows/planning/uuid';

/**
 * The verbs for executions, which run one function over many argument lists on several nodes:
 * `muster.executions`.
 */
export class Executions {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Runs a function once per argument list, on nodes that can run it. Resolves when the request is
   * stored, before anything has run, with a handle whose id is that of the request, and whose
   * `code` and `message` say whether nodes can run it now. The lists may come as a stream: nothing
   * of a stream that breaks off is run. Throws `InvalidArgumentError`, `EmptyExecutionError`, or a
   * `MusterError` with code ID_CONFLICT or CANCELLED.
   */
  async execute(
    template: Template,
    argumentLists: ArgumentLists,
    options: ExecuteOptions = {},
  ): Promise<AcceptedExecution> {
    const { connection } = this;
    const requestId = options.requestId ?? randomUUID();
    // Not its config and its lists: they may hold secrets.
    const { functionId, method } = (template ?? {}) as Partial<Template>;
    const { topic, maxAttempts, tenant } = options;
    const detail = { functionId, method, topic, maxAttempts, tenant };
    const act = { verb: 'execute', subject: `execution ${String(requestId).toLowerCase()}`, detail };
    const { id, items } = await connection.change(executing(requestId), act, () =>
      storeExecution(connection.pool, template, argumentLists, { ...options, requestId }, connection.sealer),
    );
    // The execution is accepted. If its workflow cannot be started now, do not fail: the sweeper
    // starts it within seconds.
    await connection.wake((requests) => wakeExecutions(requests, connection.prefix, [id]));
    return new AcceptedExecution(connection, id, await askAnswer(connection, template, options, items));
  }

  /**
   * Returns a handle on the execution with this id, which need not exist: the handle's methods
   * report that. Throws `InvalidArgumentError` if the id is not a UUID.
   */
  getHandle(id: string): Execution {
    if (!isUuid(id)) throw new InvalidArgumentError('execution', 'a uuid', id);
    return new Execution(this.connection, id.toLowerCase());
  }

  /**
   * Returns executions, newest first: at most `limit`, 1 to 1,000, default 20; with `tenant` only
   * those that were marked as its own, and with `functions` besides only those of these functions.
   */
  async list({ limit = 20, ...filter }: ExecutionFilter & { limit?: number } = {}): Promise<ExecutionView[]> {
    return executions(this.connection, checkWhole('limit', limit, 1, PAGE_MAX), filter);
  }
}
