import type { Handler } from '../activities/handlers/types';
import { withRetries } from '../postgres/errors';
import { bindTargets, registerLanes } from '../postgres/lane';
import type { Pool } from '../postgres/pool';
import { InvalidArgumentError } from './errors';

/** Which lane a target feeds, as this client knows it: a binding never changes, so it is remembered. */
export class LaneBindings {
  private readonly lanes = new Map<string, number>();
  private readonly bound = new Map<number, number>();

  /** Registers what is new, in commits of their own; answers the lanes in order. */
  async bind(
    pool: Pool,
    handler: Handler,
    handlerId: number,
    wanted: readonly { service: string; target: string; targetId: number }[],
  ): Promise<number[]> {
    const keyOf = (service: string): string => `${handler.name}\n${service}`;
    const missing = [...new Set(wanted.map(({ service }) => service))].filter((one) => !this.lanes.has(keyOf(one)));
    if (missing.length > 0)
      for (const lane of await withRetries(() => registerLanes(pool, handlerId, missing.sort(), handler.lane)))
        this.lanes.set(keyOf(lane.service), lane.id);
    const laneOf = (service: string): number => this.lanes.get(keyOf(service))!;
    const free = wanted.filter(({ targetId }) => !this.bound.has(targetId)).sort((a, b) => a.targetId - b.targetId);
    if (free.length > 0) {
      const targets = free.map(({ targetId }) => targetId);
      const found = await withRetries(() => bindTargets(pool, targets, free.map(({ service }) => laneOf(service)))); // prettier-ignore
      for (const [targetId, laneId] of found) this.bound.set(targetId, laneId);
    }
    for (const { service, target, targetId } of wanted)
      if (this.bound.get(targetId) !== laneOf(service))
        throw new InvalidArgumentError('service', `the one that target "${target}" of handler "${handler.name}" feeds already`, service, 'A target feeds one service, for good (C4).'); // prettier-ignore
    return wanted.map(({ service }) => laneOf(service));
  }
}
