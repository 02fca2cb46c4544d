import { lowerDue, WAKE_LEASE_MS } from '../../postgres/grouping/ring';
import type { WokenLeader } from '../../postgres/grouping/ring';
import { lanesOfHandler } from '../../postgres/lanes/control';
import { wakeLimitedLeaders } from '../../postgres/limits/wakes';
import { findTargetsWithWork } from '../../postgres/operations/resume';
import type { Pool } from '../../postgres/pool';

/** Most targets per statement. */
const CHUNK = 1_000;

/**
 * Makes what waits under changed limits due anew, in separate statements after the commit of the
 * change, and returns which leaders and lanes to wake.
 */
export const dueUnderLimits = async (
  pool: Pool,
  handler: string,
  target: string | null,
): Promise<{ leaders: WokenLeader[]; laneIds: number[] }> => {
  const ids = await findTargetsWithWork(pool, handler, target);
  for (let at = 0; at < ids.length; at += CHUNK) await lowerDue(pool, ids.slice(at, at + CHUNK));
  const laneIds = await lanesOfHandler(pool, handler, target);
  return { leaders: await wakeLimitedLeaders(pool, handler, target, WAKE_LEASE_MS), laneIds };
};
