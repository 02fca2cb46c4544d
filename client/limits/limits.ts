import { ofTarget } from '../../activities/limits/change';
import { readHandlerLimits } from '../../postgres/limits/handlerLimits';
import { listOverrides } from '../../postgres/limits/overrides';
import { readTargetLimits } from '../../postgres/limits/targetLimits';
import type { LimitsChange, LimitsPage, LimitsView } from '../../workflows/contracts/limits';
import { inForce } from '../../workflows/planning/limits/overrides';
import { PAGE_MAX } from '../../workflows/planning/pages';
import { checkWhole } from '../arguments';
import type { Connection } from '../connection';
import { decodePlace, encodePlace } from '../listing/pageCursor';
import { scopeText } from '../operations/auditLog';
import { findScope } from '../operations/scope';
import { CHANGE_IN_STEPS } from '../tasks/failureTexts';
import type { LimitSettings, SetLimitsOptions } from './check';
import { changeLimitsOf } from './set';
import { toLimitsView } from './view';

/** Options of `limits.list`: of which handler, and which page. */
export interface ListLimitsOptions {
  /** Only of this handler and its targets; default: of all. */
  handler?: string;
  /** Most handlers and targets of the page, 1 to 1,000. Default 100. */
  limit?: number;
  /** The `next` of the page before. */
  after?: string;
}

/** All limits as they are defined again. */
const REMOVED: LimitSettings = {
  rate: null,
  concurrency: { perTarget: null, perHandler: null },
  maxWeightInFlight: { perTarget: null, perHandler: null },
};

/** Those that a target can have. */
const OF_TARGET_REMOVED: LimitSettings = {
  rate: null,
  concurrency: { perTarget: null },
  maxWeightInFlight: { perTarget: null },
};

/**
 * The verbs for limits that change while workers run: `muster.limits`. Each throws `NotFoundError`
 * for an unknown handler or target.
 */
export class Limits {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Sets limits of a handler, or of one target, in place of those of its definition, until they are
   * removed or their time has passed. All workers follow within about a second. Null is "as
   * defined", and what is left out stays as it is. Throws a `MusterError` with code
   * INVALID_ARGUMENT for a wrong limit.
   */
  set(handler: string, limits: LimitSettings, options: SetLimitsOptions = {}): Promise<LimitsChange> {
    const { target, until, forMs } = options;
    const act = {
      verb: 'set limits',
      subject: scopeText(handler, target),
      detail: { limits, ...(until === undefined ? {} : { until }), ...(forMs === undefined ? {} : { forMs }) },
    };
    return this.connection.steer(CHANGE_IN_STEPS, act, () => changeLimitsOf(this.connection, handler, limits, options));
  }

  /** Removes what is set of a handler, or of one target: its definition counts again. */
  remove(handler: string, options: { target?: string } = {}): Promise<LimitsChange> {
    const act = { verb: 'remove limits', subject: scopeText(handler, options.target) };
    const { target } = options;
    const removed = target === undefined ? REMOVED : OF_TARGET_REMOVED;
    return this.connection.steer(CHANGE_IN_STEPS, act, () =>
      changeLimitsOf(this.connection, handler, removed, target === undefined ? {} : { target }),
    );
  }

  /** Returns the limits of a handler, or of one target: what counts, and who set it until when. */
  async get(handler: string, options: { target?: string } = {}): Promise<LimitsView> {
    const { handlerId, targetId, target } = await findScope(this.connection, handler, options.target);
    const { pool } = this.connection;
    const facts = (await readHandlerLimits(pool, handlerId))!;
    if (targetId === null) return toLimitsView({ handler, target }, facts.defined, facts.overrides);
    const of = await readTargetLimits(pool, targetId);
    return toLimitsView({ handler, target }, ofTarget(inForce(facts.defined, facts.overrides)), of?.overrides ?? {});
  }

  /** Lists the handlers and targets for which limits are set, by name. */
  async list(options: ListLimitsOptions = {}): Promise<LimitsPage> {
    const limit = checkWhole('limit', options.limit ?? 100, 1, PAGE_MAX);
    const [afterHandler, afterTarget] = decodePlace('limits', ['', ''] as const, options.after);
    const { pool } = this.connection;
    if (options.handler !== undefined) await findScope(this.connection, options.handler);
    await this.connection.ready();
    const after = options.after === undefined ? null : { handler: afterHandler, target: afterTarget };
    const rows = await listOverrides(pool, { handler: options.handler ?? null, after, limit });
    const last = rows.at(-1);
    const isLast = last === undefined || rows.length < limit;
    return {
      limits: rows.map(({ handler, target, defined, overrides }) =>
        toLimitsView({ handler, target }, target === null ? defined : ofTarget(defined), overrides),
      ),
      next: isLast ? null : encodePlace('limits', [last.handler, last.target ?? '']),
    };
  }
}
