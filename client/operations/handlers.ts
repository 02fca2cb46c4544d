import type { Contract } from '../../handlers/types';
import type { Connection } from '../connection';
import { CHANGE, CHANGE_IN_STEPS } from '../tasks/failureTexts';
import type { HandlerStatus } from '../views';
import { scopeText } from './auditLog';
import * as control from './control';
import * as reports from './status';

/** The verbs for handlers: `muster.handlers`. */
export class Handlers {
  /** The contracts and handlers that were given to this client, by name. */
  readonly definitions: ReadonlyMap<string, Contract>;

  /** @internal */
  constructor(private readonly connection: Connection) {
    this.definitions = connection.handlers;
  }

  /**
   * Returns the contract or handler of this name that was given to this client. Throws
   * `UnknownHandlerError`.
   */
  definition(name: string): Contract {
    return this.connection.handler(name);
  }

  /**
   * Returns the status of one handler, or of all, with the number of tasks per state, in one
   * snapshot. Counts in tables of more than 50,000 rows are estimated from a sample (`estimated`),
   * unless `exact` is true, which takes seconds per million rows. Throws `NotFoundError` for an
   * unknown handler.
   */
  status(handler?: string, options?: { exact?: boolean }): Promise<HandlerStatus[]> {
    return reports.status(this.connection, handler, options);
  }

  /**
   * Makes the ready tasks of a handler, or of one target, due at once. Tasks that wait for their
   * time continue to wait. In a lane so do tasks behind a batch in flight, but they go without a
   * linger when it is their turn. Returns how many targets and tasks were flushed, perhaps none.
   * Throws `NotFoundError` for an unknown handler or target.
   */
  flush(handler: string, target?: string): Promise<{ targets: number; tasks: number }> {
    const act = { verb: 'flush', subject: scopeText(handler, target) };
    return this.connection.steer(CHANGE_IN_STEPS, act, () => control.flush(this.connection, handler, target));
  }

  /**
   * Stops the calls of a handler, or of one target, until it is resumed. Calls in flight still end,
   * and submits are accepted. Pausing again keeps the time of the first pause and takes the new
   * reason. Throws `NotFoundError` for an unknown handler or target.
   */
  pause(handler: string, options?: control.PauseOptions): Promise<{ paused: true }> {
    const { target, ...detail } = options ?? {};
    const act = { verb: 'pause', subject: scopeText(handler, target), detail };
    return this.connection.steer(CHANGE, act, () => control.pause(this.connection, handler, options));
  }

  /**
   * Lets a paused handler, or one target, continue, even if a `HaltError` or an HTTP 401 has paused
   * it, and ends its hold. Targets of the handler that are paused themselves stay paused. Throws
   * `NotFoundError` for an unknown handler or target.
   */
  resume(handler: string, options?: { target?: string }): Promise<{ resumed: true }> {
    const act = { verb: 'resume', subject: scopeText(handler, options?.target) };
    return this.connection.steer(CHANGE_IN_STEPS, act, () => control.resume(this.connection, handler, options));
  }
}
