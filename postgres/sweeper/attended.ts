import { STALLED_MS } from '../../workflows/planning/liveness';

/**
 * Whether a worker is there to move things, and since when: shared by the statements that find what
 * has stalled.
 */

export const LATE = `clock() - ${STALLED_MS} * interval '1 ms'`;
/** A worker without a sign of life for longer may be gone; ten heartbeats. */
export const LIVE = `n.seen_at > clock() - interval '30 s' and not n.draining and n.started_at < ${LATE}`;
