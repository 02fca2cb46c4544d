import { findLanes } from '../../postgres/lanes/lane';
import type { Connection } from '../connection';
import { wakeGivenUp } from '../operations/cancellation';
import { CHANGE } from '../tasks/failureTexts';
import * as control from './control';
import type { LostAnswer, LostOptions } from './reportLost';
import { reportLost } from './reportLost';
import * as views from './views';

/** The verbs for lanes: `muster.lanes`. Each throws `NotFoundError` for an unknown service. */
export class Lanes {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Returns a page of lanes, ordered by service: depth, age, state with its reason, and share of
   * the submitters.
   */
  async list(options?: views.LanesOptions): Promise<views.LaneView[]> {
    await this.connection.ready();
    return views.lanes(this.connection.pool, options);
  }

  /**
   * Returns one lane with its first open batches: `batches` of them, 0 to 1,000, default 20. The
   * state keys of those end at 8 MB (`keysOmitted`); `batches.status` has those of one batch.
   */
  async get(
    service: string,
    options?: { batches?: number },
  ): Promise<views.LaneView & { batches: views.LaneBatchView[] }> {
    await this.connection.ready();
    return views.lane(this.connection.pool, service, options);
  }

  /**
   * Stops a lane until it is resumed. Batches in flight still end. `reason` has at most 1,000
   * characters, and is shown by `list` and `explain`; default `paused by hand`.
   */
  async pause(service: string, reason = 'paused by hand'): Promise<void> {
    const { connection } = this;
    const act = { verb: 'pause', subject: `lane ${service}`, detail: { reason } };
    await connection.change(CHANGE, act, () => control.pauseLane(connection.pool, service, reason));
  }

  /** Lets a paused lane continue. */
  async resume(service: string): Promise<void> {
    const { connection } = this;
    const act = { verb: 'resume', subject: `lane ${service}` };
    const laneIds = await connection.change(CHANGE, act, () => control.resumeLane(connection.pool, service));
    await connection.ringLaneIds(laneIds);
  }

  /**
   * Sets a lane's weight in the strategy `per-service`, a whole number from 1 to 10,000, from the
   * next grant on.
   */
  async setWeight(service: string, weight: number): Promise<void> {
    const { connection } = this;
    const act = { verb: 'set', subject: `lane ${service}`, detail: { weight } };
    await connection.change(CHANGE, act, () => control.setLaneWeight(connection.pool, service, weight));
  }

  /**
   * Lets a halted lane continue without the batch that halts it, and returns the number of that
   * batch. A batch of unknown outcome then counts as not applied, so that its dependents fail.
   * Throws a `MusterError` with code NOT_HALTED for a lane that is not halted, and
   * `OtherBatchHaltsError` where another batch halts it than the one of `batch`.
   */
  async skip(service: string, options: control.HeadOptions = {}): Promise<{ batch: number }> {
    const { connection } = this;
    const work = (): ReturnType<typeof control.skipHead> => control.skipHead(connection.pool, service, options);
    const act = { verb: 'skip', subject: `lane ${service}`, detail: options };
    const { batch, laneIds, targetIds } = await connection.change(CHANGE, act, work);
    await connection.ringLaneIds(laneIds);
    await connection.releaseDependents();
    await wakeGivenUp(connection, targetIds);
    return { batch };
  }

  /**
   * Lets a halted lane continue, after a decision about its batch of unknown outcome, or with other
   * items in place of an invalid batch. Returns the number of the batch (of the new one, if items
   * were given). Throws a `MusterError` with code NOT_HALTED for a lane that is not halted,
   * `OtherBatchHaltsError` where another batch halts it than the one of `batch`, and
   * `InvalidArgumentError` for a fix that does not suit the batch.
   */
  async fix(service: string, fix: control.Fix): Promise<{ batch: number }> {
    const { connection } = this;
    const act = { verb: 'fix', subject: `lane ${service}`, detail: fix };
    const { batch, laneIds } = await connection.change(CHANGE, act, () => control.fixHead(connection, service, fix));
    await connection.ringLaneIds(laneIds);
    await connection.releaseDependents();
    return { batch };
  }

  /**
   * Reports that the downstream has lost batches of a lane that it had accepted: all of them, or
   * those after one batch. They are looked up, then sent again, in order and with the same keys.
   * Batches that have ended stay as they are. Throws `InvalidArgumentError` for a batch or
   * reference that is not in this lane. Then nothing was changed.
   */
  async reportLost(service: string, options: LostOptions = {}): Promise<LostAnswer> {
    const { connection } = this;
    const act = { verb: 'report lost', subject: `lane ${service}`, detail: options };
    const work = (): ReturnType<typeof reportLost> => reportLost(connection.pool, service, options);
    const { answer, laneIds } = await connection.change(CHANGE, act, work);
    await connection.ringLaneIds(laneIds);
    return answer;
  }

  /**
   * Tells the queuers to look at the lanes of these services, for use after a `batches.submit` with
   * `tx`. Never throws.
   */
  async ring(services: readonly string[]): Promise<void> {
    const lanes = await findLanes(this.connection.pool, services).catch(() => []);
    await this.connection.ringLaneIds(lanes.map(({ id }) => id));
  }
}
