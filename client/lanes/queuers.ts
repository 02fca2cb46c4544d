import { setQueuersPaused } from '../../postgres/lanes/control';
import type { Connection } from '../connection';
import { CHANGE } from '../tasks/failureTexts';
import * as control from './control';
import type { QueuerView } from './views';
import { queuers } from './views';
import { checkReason } from '../arguments';

/** The verbs for queuers, which grant submitters to lanes: `muster.queuers`. */
export class Queuers {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /** Returns the queuers with their slots, grants and strategy. */
  async list(): Promise<QueuerView[]> {
    await this.connection.ready();
    return queuers(this.connection.pool);
  }

  /** Sets slots, strategy or depth, at least one of them, from the next grant on. */
  async set(settings: control.QueuerSettings): Promise<void> {
    const { connection } = this;
    const act = { verb: 'set', subject: 'queuers', detail: settings };
    const changed = await connection.change(CHANGE, act, () => control.setQueuer(connection.pool, settings));
    await connection.laneRinger.wake(changed);
  }

  /**
   * Stops all lanes: no lane is granted a submitter, and batches in flight still end. `reason` has
   * at most 1,000 characters; default `paused by hand`.
   */
  async pause(reason = 'paused by hand'): Promise<void> {
    const { connection } = this;
    const act = { verb: 'pause', subject: 'queuers', detail: { reason } };
    await connection.change(CHANGE, act, () => setQueuersPaused(connection.pool, checkReason(reason)));
  }

  /** Lets all lanes continue, except those that are paused themselves. */
  async resume(): Promise<void> {
    const { connection } = this;
    const act = { verb: 'resume', subject: 'queuers' };
    const changed = await connection.change(CHANGE, act, () => setQueuersPaused(connection.pool, null));
    await connection.laneRinger.wake(changed);
  }
}
