import type { CallbackPage } from '../../workflows/contracts/callback';
import type { Connection } from '../connection';
import { someOf } from '../operations/auditLog';
import { CHANGE_IN_STEPS } from '../tasks/failureTexts';
import type { ListCallbacksOptions } from './list';
import { listCallbacks } from './list';
import type { SendCallbacksOptions } from './send';
import { sendCallbacks } from './send';

/** The verbs for callbacks that were not delivered: `muster.callbacks`. */
export class Callbacks {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Lists callbacks that were tried and not delivered, the newest first: those that are tried again
   * and those that were given up. A page looks at a bounded number of rows: it may be short, even
   * empty, and still have a `next`. Throws `NotFoundError` for an unknown handler.
   */
  list(options?: ListCallbacksOptions): Promise<CallbackPage> {
    return listCallbacks(this.connection, options);
  }

  /**
   * Sends callbacks again that were not delivered: they are due at once, under the same message
   * ids, those that were given up with all of their tries anew. One that is on its way just now may
   * arrive twice. Returns how many; whether they arrive is seen in the list. Throws `NotFoundError`
   * for an unknown handler, and for an id of none that was tried and not delivered. Then nothing
   * was sent.
   */
  send(options?: SendCallbacksOptions): Promise<{ sent: number }> {
    const { connection } = this;
    const ofAll = options?.handler === undefined ? 'callbacks' : `callbacks of handler ${options.handler}`;
    const subject = options?.ids === undefined ? ofAll : someOf('callback', options.ids);
    const act = { verb: 'send', subject, detail: options ?? {} };
    return connection.steer(CHANGE_IN_STEPS, act, () => sendCallbacks(connection, options));
  }
}
