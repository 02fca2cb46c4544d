import type { Decide } from '../../activities/limits/change';
import { asked, changeLimits } from '../../activities/limits/change';
import { dueUnderLimits } from '../../activities/limits/wakes';
import type { LimitsChange } from '../../workflows/contracts/limits';
import { wakeLeaderWorkflows } from '../../workflows/wake';
import type { Connection } from '../connection';
import { NotFoundError } from '../errors';
import { findScope } from '../operations/scope';
import type { LimitSettings, SetLimitsOptions } from './check';
import { checkLimits, checkUntil, checkWeights } from './check';
import { shown, toLimitsView } from './view';

/** Changes limits of a handler or one of its targets, and wakes what waits under them. */
export const changeLimitsOf = async (
  connection: Connection,
  handler: string,
  limits: LimitSettings,
  options: SetLimitsOptions,
): Promise<LimitsChange> => {
  const change = checkLimits(limits, options.target);
  const until = checkUntil(options);
  const { handlerId, targetId, target } = await findScope(connection, handler, options.target);
  const decide: Decide = (overrides, at) => {
    checkWeights(change, at.facts);
    return asked(change, connection.audit.who(), until)(overrides, at);
  };
  const done = await changeLimits(connection.pool, { handlerId, targetId }, decide);
  if (done === null && target !== null)
    throw new NotFoundError('target', target, 'It was deleted meanwhile, since nothing had used it.');
  if (done === null) throw new NotFoundError('handler', handler, 'It was removed meanwhile.');
  await wakeUnderLimits(connection, handler, target);
  return {
    changed: done.changed.map(({ limit, from, to }) => ({ limit, from: shown(from), to: shown(to) })),
    ...toLimitsView({ handler, target }, done.defined, done.overrides),
  };
};

const wakeUnderLimits = async (connection: Connection, handler: string, target: string | null): Promise<void> => {
  const { leaders, laneIds } = await dueUnderLimits(connection.pool, handler, target);
  await connection.ringLaneIds(laneIds);
  if (leaders.length > 0)
    await connection.wake((requests) => wakeLeaderWorkflows(requests, connection.prefix, leaders));
};
