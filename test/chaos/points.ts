/**
 * The points at which something dies, by name, and what harness, workers, submitters and the
 * downstream say to each other.
 */

/** Reported by a worker: the first five around the database, the last by its workflow thread. */
export const WORKER_POINTS = [
  'before-claim', // tasks chosen, under the leader's lock, nothing committed
  'after-claim', // batches committed, the workflow does not know of them
  'before-call', // marked, nothing sent
  'before-settle', // the answer is here, nothing of it written
  'after-settle', // written, nothing told
  'continue-as-new', // decided by the workflow, the server not told
] as const;
/** Reported by the downstream process, for the worker whose call it is. */
export const CALL_POINTS = ['in-call', 'after-effect'] as const;
/** Reported by a submitter: committed, not rung. */
export const CLIENT_POINT = 'client-commit-ring';
/**
 * A worker's sessions are terminated, in a claim or a settle, before the commit or before its
 * answer arrives.
 */
export const BACKEND_POINT = 'backend-terminated';
/** The dev server is killed and started again on its file. */
export const SERVER_POINT = 'server-restart';

export const POINTS = [...WORKER_POINTS, ...CALL_POINTS, CLIENT_POINT, BACKEND_POINT, SERVER_POINT] as const;

/** Points of the queuer, reported by a worker. */
export const LANE_WORKER_POINTS = [
  'before-grant', // batches chosen, under the queuer's lock, nothing committed
  'before-send', // marked, nothing sent
  'after-grant', // committed, nobody has them in hand
  'after-accept', // pending in the store, the monitor not told
  'after-read-claimed', // done downstream, in the monitor's hands
  'before-settle', // the answer is here, nothing of it written
  'after-settle', // written, nobody rung
  'continue-as-new',
] as const;
/** The downstream dies, and with it what it had accepted. */
export const DOWNSTREAM_POINT = 'downstream-restart';
export const LANE_POINTS = [
  ...LANE_WORKER_POINTS,
  ...CALL_POINTS,
  DOWNSTREAM_POINT,
  CLIENT_POINT,
  BACKEND_POINT,
  SERVER_POINT,
] as const;
export type Point = (typeof POINTS)[number] | (typeof LANE_POINTS)[number];

/** Where exactly in a transaction: its meaning is the point's own. */
export type Variant = 0 | 1 | 2 | 3;

export interface Arming {
  arm: Point;
  variant: Variant;
  /** Repeated in the report, and by whoever lets the victim go on. */
  token: string;
}
/** Harness to child. `lost`: the answer of what was done does not arrive. */
export type Order = Arming | { disarm: true } | { go: string; lost?: boolean } | { rate: number; until: number };

/** Child to harness, one JSON line. */
export interface Report {
  point: Point;
  token: string;
  /** Tasks or batches in the victim's hands at this moment. */
  live: number;
  /** In-call points: index of the worker whose call it is. */
  worker?: number;
  /**
   * continue-as-new: whose work it is, a leader's or a queuer's; the harness looks in the store how
   * much waits.
   */
  leaderId?: number;
  /** before-send: the calls that were marked and not made yet. */
  marked?: Marked[];
}
export interface Marked {
  batch: number;
  attempt: number;
}

/**
 * Handlers of this test. Content depends on the number alone, so that a repeat is the same task.
 */
export const KEYED = 'chaos-keyed';
export const PLAIN = 'chaos-plain';
export const DISTINCT = 'chaos-distinct';
export const handlerOf = (n: number): string => (n % 10 === 3 ? PLAIN : n % 10 === 7 ? DISTINCT : KEYED);
