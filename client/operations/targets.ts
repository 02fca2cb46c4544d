import { findLanesOfTargets } from '../../postgres/lanes/lane';
import type { Connection } from '../connection';
import { CHANGE, CHANGE_IN_STEPS } from '../tasks/failureTexts';
import type { TargetOverrides, TargetStatus } from '../views';
import { scopeText } from './auditLog';
import * as control from './control';
import * as reports from './status';

/**
 * The verbs for targets: `muster.targets`. Those that name a handler throw `NotFoundError` for an
 * unknown handler or target.
 */
export class Targets {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Returns a page of a handler's targets, ordered by key: what waits, when it is due, and what
   * holds it back.
   */
  list(handler: string, options?: reports.TargetsOptions): Promise<TargetStatus[]> {
    return reports.targets(this.connection, handler, options);
  }

  /**
   * Replaces all overrides of a target, which count in place of the handler's settings. A setting
   * that is left out is the handler's again; null removes all overrides. Throws a `MusterError`
   * with code INVALID_ARGUMENT for a wrong setting.
   */
  set(handler: string, target: string, overrides: TargetOverrides | null): Promise<void> {
    const act = { verb: 'set', subject: scopeText(handler, target), detail: { overrides } };
    return this.connection.steer(CHANGE, act, () => control.setTarget(this.connection, handler, target, overrides));
  }

  /** Makes the ready tasks of one target due at once, as `handlers.flush` does. */
  flush(handler: string, target: string): Promise<{ targets: number; tasks: number }> {
    const act = { verb: 'flush', subject: scopeText(handler, target) };
    return this.connection.steer(CHANGE_IN_STEPS, act, () => control.flush(this.connection, handler, target));
  }

  /** Stops calls of one target, as `handlers.pause` does; `reason` has at most 1,000 characters. */
  pause(handler: string, target: string, options: { reason?: string } = {}): Promise<{ paused: true }> {
    const { reason } = options;
    const act = { verb: 'pause', subject: scopeText(handler, target), detail: { reason } };
    return this.connection.steer(CHANGE, act, () => control.pause(this.connection, handler, { reason, target }));
  }

  /** Lets one paused target continue, as `handlers.resume` does. */
  resume(handler: string, target: string): Promise<{ resumed: true }> {
    const act = { verb: 'resume', subject: scopeText(handler, target) };
    return this.connection.steer(CHANGE_IN_STEPS, act, () => control.resume(this.connection, handler, { target }));
  }

  /**
   * Wakes the leaders of these targets, or the queuers of the lanes to which they are bound, for use
   * after a `submit` with `tx`. Never throws, and waits at most half a second for Temporal.
   */
  async ring(targetIds: Iterable<number>): Promise<void> {
    const { connection } = this;
    const ids = [...targetIds];
    if (ids.length === 0) return;
    const lanes = await findLanesOfTargets(connection.pool, ids).catch(() => new Map<number, number>());
    const unordered = ids.filter((id) => !lanes.has(id));
    await Promise.all([connection.ring(unordered), connection.ringLaneIds(new Set(lanes.values()))]);
  }
}
