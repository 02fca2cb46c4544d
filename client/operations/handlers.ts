import type { Handler } from '../../handlers/types';
import type { Connection } from '../connection';
import { CHANGE, CHANGE_IN_STEPS, withFailureTexts } from '../tasks/failureTexts';
import type { HandlerStatus } from '../views';
import * as control from './control';
import * as reports from './status';

/** The verbs for handlers: `muster.handlers`. */
export class Handlers {
  /** The handlers that this client was given, by name. */
  readonly definitions: ReadonlyMap<string, Handler>;

  /** @internal */
  constructor(private readonly connection: Connection) {
    this.definitions = connection.handlers;
  }

  /** Returns the handler of this name that this client was given; throws `UnknownHandlerError`. */
  definition(name: string): Handler {
    return this.connection.handler(name);
  }

  /**
   * Counts tasks per handler and state, in one snapshot, of all handlers or of one; tables of more
   * than 50,000 rows are projected from a sample (`estimated`), unless `exact`: seconds per
   * million. Throws `NotFoundError` for an unknown handler.
   */
  status(handler?: string, options?: { exact?: boolean }): Promise<HandlerStatus[]> {
    return reports.status(this.connection, handler, options);
  }

  /**
   * Makes the ready tasks of a handler, or of one target, due at once; nothing to flush is no
   * error. Tasks that wait for their time continue to wait, and in a lane so do those behind a
   * batch in flight: they go without a linger when it is their turn. Throws `NotFoundError`.
   */
  flush(handler: string, target?: string): Promise<{ targets: number; tasks: number }> {
    return withFailureTexts(CHANGE_IN_STEPS, () => control.flush(this.connection, handler, target));
  }

  /**
   * Stops calls of a handler, or of one target; calls in flight end, submits are accepted. Pausing
   * again keeps the first time and takes the new reason. Throws `NotFoundError`.
   */
  pause(handler: string, options?: control.PauseOptions): Promise<{ paused: true }> {
    return withFailureTexts(CHANGE, () => control.pause(this.connection, handler, options));
  }

  /**
   * Lets a paused handler, or one target, continue, also one that a `HaltError` or a 401 paused,
   * and ends its hold. The handler's paused targets stay paused. Throws `NotFoundError`.
   */
  resume(handler: string, options?: { target?: string }): Promise<{ resumed: true }> {
    return withFailureTexts(CHANGE_IN_STEPS, () => control.resume(this.connection, handler, options));
  }
}
