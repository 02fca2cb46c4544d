import type { Fix, HeadOptions, QueuerSettings } from '../../../../client/lanes/control';
import * as control from '../../../../client/lanes/control';
import type { LostAnswer, LostOptions } from '../../../../client/lanes/reportLost';
import { reportLost } from '../../../../client/lanes/reportLost';
import type { Handler } from '../../../../handlers/types';
import { setQueuersPaused } from '../../../../postgres/lanes/control';
import type { Pool } from '../../../../postgres/pool';
import type { Tables } from '../tables';
import type { LaneSubmission } from './laneSubmission';
import type { SimulatedLane } from './views';
import { laneView } from './views';

/** Changes something in the world's turn, and then does what that has made due. */
export type Change = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * The lanes of a simulated world: the verbs of `muster.lanes`, which throw what those throw. Each
 * resolves when what it made due has been called.
 */
export class SimulatedLanes {
  /** @internal */
  constructor(
    private readonly tables: Tables,
    private readonly handler: Handler,
    private readonly pool: Pool,
    private readonly submission: LaneSubmission,
    private readonly change: Change,
  ) {}

  /** Returns all lanes as they are now, in the order in which they were first used. */
  list(): SimulatedLane[] {
    return this.tables.lanes.all.map((lane) => laneView(this.tables, this.handler, lane));
  }

  /** Returns one lane as it is now; null: nothing was submitted to this service. */
  get(service: string): SimulatedLane | null {
    const lane = this.tables.lanes.byService.get(service);
    return lane === undefined ? null : laneView(this.tables, this.handler, lane);
  }

  /** Stops a lane until it is resumed. */
  async pause(service: string, reason = 'paused by hand'): Promise<void> {
    await this.change(() => control.pauseLane(this.pool, service, reason));
  }

  /** Lets a paused lane go on, also from a hold. */
  async resume(service: string): Promise<void> {
    await this.change(() => control.resumeLane(this.pool, service));
  }

  /** Sets the lane's share in the strategy `per-service`. */
  async setWeight(service: string, weight: number): Promise<void> {
    await this.change(() => control.setLaneWeight(this.pool, service, weight));
  }

  /** Lets a halted lane go on without the batch that halts it; returns the number of that batch. */
  skip(service: string, options?: HeadOptions): Promise<{ batch: number }> {
    return this.change(async () => {
      const { batch } = await control.skipHead(this.pool, service, options);
      return { batch };
    });
  }

  /** Lets a halted lane go on after a decision about its batch, or with items in its place. */
  fix(service: string, fix: Fix): Promise<{ batch: number }> {
    const { pool, handler } = this;
    const { inserter } = this.submission;
    return this.change(async () => {
      const { batch } = await control.fixHead({ pool, inserter, handler: () => handler }, service, fix);
      return { batch };
    });
  }

  /** Reports that the downstream has lost what it had accepted of a lane, all or after a batch. */
  reportLost(service: string, options: LostOptions = {}): Promise<LostAnswer> {
    return this.change(async () => (await reportLost(this.pool, service, options)).answer);
  }

  /** Sets how the queuer grants: slots, strategy, depth; as `muster.queuers.set` does. */
  async setQueuer(settings: QueuerSettings): Promise<void> {
    await this.change(() => control.setQueuer(this.pool, settings));
  }

  /** Stops all lanes, until `resumeAll`. */
  async pauseAll(reason = 'paused by hand'): Promise<void> {
    await this.change(() => setQueuersPaused(this.pool, reason));
  }

  /** Lets all lanes go on, except those that are paused themselves. */
  async resumeAll(): Promise<void> {
    await this.change(() => setQueuersPaused(this.pool, null));
  }
}
