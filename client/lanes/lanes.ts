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

  /** Returns a page of lanes, by service: depth, age, state and why, share of the submitters. */
  async list(options?: views.LanesOptions): Promise<views.LaneView[]> {
    await this.connection.ready();
    return views.lanes(this.connection.pool, options);
  }

  /**
   * Returns one lane with its first open batches, 20 unless `batches` (0 to 1,000) says otherwise.
   */
  async get(
    service: string,
    options?: { batches?: number },
  ): Promise<views.LaneView & { batches: views.LaneBatchView[] }> {
    await this.connection.ready();
    return views.lane(this.connection.pool, service, options);
  }

  /**
   * Stops a lane until it is resumed; what is in flight ends. `reason`: at most 1,000 characters,
   * shown by `list` and `explain`.
   */
  async pause(service: string, reason = 'paused by hand'): Promise<void> {
    const { connection } = this;
    await connection.write(CHANGE, () => control.pauseLane(connection.pool, service, reason));
  }

  /** Lets a paused lane continue. */
  async resume(service: string): Promise<void> {
    const { connection } = this;
    await connection.ringLaneIds(await connection.write(CHANGE, () => control.resumeLane(connection.pool, service)));
  }

  /**
   * Sets a lane's share in `per-service`, a whole number from 1 to 10,000; counts from the next
   * grant on.
   */
  async setWeight(service: string, weight: number): Promise<void> {
    const { connection } = this;
    await connection.write(CHANGE, () => control.setLaneWeight(connection.pool, service, weight));
  }

  /**
   * Lets a halted lane continue without the batch that halts it; one of unknown outcome counts as
   * not applied, and so its dependents fail. Returns its number. Throws NOT_HALTED.
   */
  async skip(service: string): Promise<{ batch: number }> {
    const { connection } = this;
    const work = (): ReturnType<typeof control.skipHead> => control.skipHead(connection.pool, service);
    const { batch, laneIds, targetIds } = await connection.write(CHANGE, work);
    await connection.ringLaneIds(laneIds);
    await connection.releaseDependents();
    await wakeGivenUp(connection, targetIds);
    return { batch };
  }

  /**
   * Lets a halted lane continue after a verdict on its batch of unknown outcome, or with other
   * items in place of the invalid ones. Returns the number of the batch. Throws NOT_HALTED,
   * `InvalidArgumentError` for a fix that does not suit the batch.
   */
  async fix(service: string, fix: control.Fix): Promise<{ batch: number }> {
    const { connection } = this;
    const { batch, laneIds } = await connection.write(CHANGE, () => control.fixHead(connection, service, fix));
    await connection.ringLaneIds(laneIds);
    await connection.releaseDependents();
    return { batch };
  }

  /**
   * Takes a downstream's notice that it lost what it had accepted in a lane: everything, or what
   * stands behind one batch. Those batches are looked up, then sent again, in order and with the
   * same keys; what has ended stays as it is. Throws `InvalidArgumentError` for a batch or a
   * reference that is not of this lane; then nothing was changed.
   */
  async reportLost(service: string, options: LostOptions = {}): Promise<LostAnswer> {
    const { connection } = this;
    const { answer, laneIds } = await connection.write(CHANGE, () => reportLost(connection.pool, service, options));
    await connection.ringLaneIds(laneIds);
    return answer;
  }

  /**
   * Tells the queuer to look at these services; never throws. For use after a `batches.submit` with
   * `tx`.
   */
  async ring(services: readonly string[]): Promise<void> {
    const lanes = await findLanes(this.connection.pool, services).catch(() => []);
    await this.connection.ringLaneIds(lanes.map(({ id }) => id));
  }
}
