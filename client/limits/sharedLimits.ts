import type { DecideShared, SharedLimitChanged } from '../../activities/limits/changeShared';
import { changeSharedLimit, dueUnderSharedLimit } from '../../activities/limits/changeShared';
import { listSharedLimits, readSharedLimit } from '../../postgres/limits/sharedSettings';
import type { SharedLimitChange, SharedLimitsPage, SharedLimitView } from '../../workflows/contracts/limits';
import { changeOverrides } from '../../workflows/planning/limits/overrides';
import { PAGE_MAX } from '../../workflows/planning/pages';
import { wakeLeaderWorkflows } from '../../workflows/wake';
import { checkName, checkWhole } from '../arguments';
import type { Connection } from '../connection';
import { NotFoundError } from '../errors';
import { decodePlace, encodePlace } from '../listing/pageCursor';
import { CHANGE_IN_STEPS } from '../tasks/failureTexts';
import type { LastingOptions } from './check';
import { checkUntil } from './check';
import type { SharedLimitSettings } from './checkShared';
import { checkSharedLimit } from './checkShared';
import { toSharedLimitView, shownShared } from './sharedView';

const REMEDY = 'A limit is known once a worker has started with a handler that shares it.';

/**
 * The verbs for limits that several handlers share, such as the budget of a key:
 * `muster.sharedLimits`. Each throws `NotFoundError` for an unknown name.
 */
export class SharedLimits {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Sets a shared limit in place of its definition, until it is removed or its time has passed. All
   * workers follow within about a second. Null is "as defined", and what is left out stays as it
   * is. Throws a `MusterError` with code INVALID_ARGUMENT for a wrong limit.
   */
  set(name: string, limits: SharedLimitSettings, options: LastingOptions = {}): Promise<SharedLimitChange> {
    const { until, forMs } = options;
    const act = {
      verb: 'set shared limit',
      subject: subjectOf(name),
      detail: { limits, ...(until === undefined ? {} : { until }), ...(forMs === undefined ? {} : { forMs }) },
    };
    return this.connection.steer(CHANGE_IN_STEPS, act, () => {
      const change = checkSharedLimit(limits);
      const untilMs = checkUntil(options);
      return changed(this.connection, name, (overrides, { nowMs }) =>
        changeOverrides(overrides, change, { by: this.connection.audit.who(), nowMs, untilMs: untilMs(nowMs) }),
      );
    });
  }

  /** Removes what is set of a shared limit: its definition counts again. */
  remove(name: string): Promise<SharedLimitChange> {
    const act = { verb: 'remove shared limit', subject: subjectOf(name) };
    return this.connection.steer(CHANGE_IN_STEPS, act, () => changed(this.connection, name, () => ({})));
  }

  /** Returns a shared limit: which handlers share it, what counts, and who set it until when. */
  async get(name: string): Promise<SharedLimitView> {
    checkName('name', name);
    await this.connection.ready();
    const facts = await readSharedLimit(this.connection.pool, name);
    if (facts === null) throw new NotFoundError('shared limit', name, REMEDY);
    return toSharedLimitView(facts);
  }

  /** Lists the limits that handlers share, by name. */
  async list(options: { limit?: number; after?: string } = {}): Promise<SharedLimitsPage> {
    const limit = checkWhole('limit', options.limit ?? 100, 1, PAGE_MAX);
    const [after] = decodePlace('sharedLimits', [''] as const, options.after);
    await this.connection.ready();
    const rows = await listSharedLimits(this.connection.pool, { after, limit });
    const last = rows.at(-1);
    return {
      limits: rows.map(toSharedLimitView),
      next: last === undefined || rows.length < limit ? null : encodePlace('sharedLimits', [last.name]),
    };
  }
}

/** Changes a shared limit, and wakes what waits under it. */
const changed = async (connection: Connection, name: string, decide: DecideShared): Promise<SharedLimitChange> => {
  checkName('name', name);
  await connection.ready();
  const done = await changeSharedLimit(connection.pool, name, decide);
  if (done === null) throw new NotFoundError('shared limit', name, REMEDY);
  const leaders = await dueUnderSharedLimit(connection.pool, name);
  if (leaders.length > 0)
    await connection.wake((requests) => wakeLeaderWorkflows(requests, connection.prefix, leaders));
  return answerOf(name, done);
};

const subjectOf = (name: string): string => `shared limit ${name}`;

const answerOf = (name: string, { changed: limits, ...facts }: SharedLimitChanged): SharedLimitChange => ({
  changed: limits.map(({ limit, from, to }) => ({ limit, from: shownShared(from), to: shownShared(to) })),
  ...toSharedLimitView({ name, ...facts }),
});
