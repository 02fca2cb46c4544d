import type { Contract } from '../../handlers/types';
import { TargetGoneError, withRetries } from '../../postgres/errors';
import { findGoneTargets } from '../../postgres/grouping/target';
import {
  bindTargets,
  changeRules,
  findChangedLanes,
  findLanes,
  findLanesOfTargets,
  lockLaneStates,
  registerLanes,
} from '../../postgres/lanes/lane';
import { partitionResource } from '../../postgres/nodes/partition';
import type { Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { leaderIndex } from '../../workflows/planning/grouping/hash';
import { checkApproachChange } from '../../workflows/planning/lanes/approaches';
import { InvalidArgumentError, MusterError } from '../errors';
import type { AdmitLanes } from '../tasks/submitResult';

interface Wanted {
  service: string;
  target: string;
  targetId: number;
}

/**
 * Computes a lane's partition from the name of its service, as a leader's partition from its
 * target, so that it never changes.
 */
const partitionsOf = ({ name, affinity }: Contract, services: readonly string[]): string[] | null =>
  affinity === null
    ? null
    : services.map((service) => partitionResource(name, leaderIndex(service, affinity.partitions)));

/** Knows which lane each target feeds. A binding never changes, so it is cached. */
export class LaneBindings {
  private lanes = new Map<string, number>();
  private bound = new Map<number, number>();

  /** `most`: lanes, and targets, that are kept beside those of a call; then all are read anew. */
  constructor(private readonly most: number) {}

  /**
   * Registers new lanes and binds targets to their lanes, in separate commits. Returns the lane of
   * each wanted entry, in order.
   */
  async bind(
    pool: Pool,
    handler: Contract,
    handlerId: number,
    wanted: readonly Wanted[],
    admit?: AdmitLanes,
  ): Promise<number[]> {
    this.forgetIfMany();
    const { lanes: known, bound } = this;
    const keyOf = (service: string): string => `${handler.name}\n${service}`;
    const services = [...new Set(wanted.map(({ service }) => service))];
    const missing = services.filter((one) => !known.has(keyOf(one)));
    if (missing.length > 0) {
      missing.sort();
      const lanes = await withRetries(() =>
        registerLanes(pool, handlerId, missing, handler.lane, partitionsOf(handler, missing)),
      );
      if (lanes.length < missing.length) throw new TargetGoneError();
      await takeRules(pool, handler, handlerId, missing);
      for (const lane of lanes) known.set(keyOf(lane.service), lane.id);
    }
    // Two handlers may have begun at once: whose the lanes are is known from here on.
    await admit?.(services);
    const laneOf = (service: string): number => known.get(keyOf(service))!;
    const unbound = new Map(wanted.filter(({ targetId }) => !bound.has(targetId)).map((one) => [one.targetId, one]));
    const free = [...unbound.values()].sort((a, b) => a.targetId - b.targetId);
    if (free.length > 0) {
      const targets = free.map(({ targetId }) => targetId);
      const found = await withRetries(() =>
        bindTargets(
          pool,
          targets,
          free.map(({ service }) => laneOf(service)),
        ),
      );
      for (const [targetId, laneId] of found) bound.set(targetId, laneId);
      await expectTargets(
        pool,
        targets.filter((id) => !found.has(id)),
      );
    }
    const moved = wanted.filter(({ service, targetId }) => bound.get(targetId) !== laneOf(service));
    await expectLanes(pool, moved, laneOf);
    for (const one of moved) check(handler, one, laneOf(one.service), bound.get(one.targetId));
    return wanted.map(({ service }) => laneOf(service));
  }

  /** The memory of a process must not grow with the names that callers invent. */
  private forgetIfMany(): void {
    if (this.lanes.size > this.most || this.bound.size > this.most) this.forget();
  }

  forget(): void {
    this.lanes = new Map();
    this.bound = new Map();
  }

  /**
   * Returns the lanes to which targets are bound already, in the given order, for an ordered
   * handler that defines no `service`.
   */
  async find(pool: Pool, handler: Contract, wanted: readonly Omit<Wanted, 'service'>[]): Promise<number[]> {
    this.forgetIfMany();
    const { bound } = this;
    const unknown = [...new Set(wanted.map(({ targetId }) => targetId))].filter((id) => !bound.has(id));
    if (unknown.length > 0)
      for (const [targetId, laneId] of await withRetries(() => findLanesOfTargets(pool, unknown)))
        bound.set(targetId, laneId);
    await expectTargets(
      pool,
      unknown.filter((id) => !bound.has(id)),
    );
    return wanted.map(({ target, targetId }) => {
      const laneId = bound.get(targetId);
      if (laneId === undefined)
        throw new InvalidArgumentError(
          'target',
          `a target already bound to a lane (handler "${handler.name}" is ordered but defines no \`service\`)`,
          target,
          'Give the handler `service: (target) => ...`, or submit with `submitBatch`, which binds the target to its service.',
        );
      return laneId;
    });
  }
}

/** Throws if one of these targets, which feed no lane, was deleted since it was looked up. */
const expectTargets = async (pool: Pool, ids: readonly number[]): Promise<void> => {
  if (ids.length > 0 && (await withRetries(() => findGoneTargets(pool, ids))).length > 0) throw new TargetGoneError();
};

/** Throws if a service of these, whose lane the target does not feed, names another lane by now. */
const expectLanes = async (
  pool: Pool,
  wanted: readonly Wanted[],
  laneOf: (service: string) => number,
): Promise<void> => {
  if (wanted.length === 0) return;
  const services = [...new Set(wanted.map(({ service }) => service))];
  const lanes = new Map((await withRetries(() => findLanes(pool, services))).map(({ service, id }) => [service, id]));
  if (services.some((service) => lanes.get(service) !== laneOf(service))) throw new TargetGoneError();
};

const check = ({ name }: Contract, { service, target }: Wanted, laneId: number, bound: number | undefined): void => {
  if (bound === undefined)
    throw new MusterError(
      'TARGET_BUSY',
      `service: target "${target}" of handler "${name}" still has unordered tasks in flight; ` +
        `binding it to lane "${service}" now could reorder them. Nothing was accepted. Wait for them ` +
        'to finish or cancel them, then submit again.',
    );
  if (bound !== laneId)
    throw new InvalidArgumentError(
      'service',
      `the service to which target "${target}" of handler "${name}" is already bound`,
      service,
      'A target is bound to one service permanently.',
    );
};

/**
 * Applies the handler's rules to its lanes, if no batch is in flight under old rules that the new
 * ones may contradict.
 */
const takeRules = async (
  pool: Pool,
  handler: Contract,
  handlerId: number,
  services: readonly string[],
): Promise<void> => {
  const find = (db: Parameters<typeof findChangedLanes>[0]): ReturnType<typeof findChangedLanes> =>
    findChangedLanes(db, handlerId, services, handler.lane);
  const changed = await withRetries(() => find(pool));
  if (changed.length === 0) return;
  await withRetries(() =>
    inTransaction(pool, async (client) => {
      const ids = changed.map(({ id }) => id);
      await lockLaneStates(client, ids);
      for (const lane of await find(client)) {
        if (lane.ordersOtherwise) refuseBusy(handler, lane);
      }
      await changeRules(client, ids, handler.lane);
    }),
  );
};

const refuseBusy = (handler: Contract, lane: { service: string; pending: number }): void => {
  try {
    checkApproachChange(lane);
  } catch (error) {
    throw new MusterError(
      'LANE_BUSY',
      `handler "${handler.name}", lane: ${(error as Error).message}. Nothing was accepted.`,
    );
  }
};
