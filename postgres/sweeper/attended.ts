import { STALLED_MS } from '../../workflows/planning/liveness';

/**
 * Whether a worker is there to move things, and since when: shared by the statements that find what
 * has stalled.
 */

export const LATE = `clock() - ${STALLED_MS} * interval '1 ms'`;
/** A worker without a sign of life for longer may be gone; ten heartbeats. */
const SILENT = `clock() - interval '30 s'`;
export const LIVE = `n.seen_at > ${SILENT} and not n.draining and n.started_at < ${LATE}`;

/**
 * SQL: the last of these workers is silent, and did not stop, since one that stops removes its row.
 * It was killed, hangs or is cut off from the store, and none has come in its place: what is
 * overdue stands still. Where all have stopped, waiting is no fault.
 */
export const lostBy = (which = 'true'): string =>
  `(select max(n.seen_at) from node n where not n.draining and ${which}) < ${SILENT}`;

/** SQL: one of these workers has been there for a minute, or should be there. */
export const attendedBy = (which = 'true'): string =>
  `(exists (select from node n where ${LIVE} and ${which}) or ${lostBy(which)})`;
