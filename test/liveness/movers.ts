/**
 * What has to go on: each is one kind of call that the downstream sees, and stands still by itself.
 */
export interface Mover {
  name: string;
  /** Of Muster; of callbacks the one whose tasks ask for them. */
  handler: string;
  /** A batch that is sent, an accepted one that is asked about, or a recipient that is told. */
  kind: 'call' | 'ask' | 'callback';
  lane: boolean;
  /** Its handler has affinity: nothing goes before somebody holds the partition. */
  placed: boolean;
}

const mover = (name: string, handler: string, kind: Mover['kind'], more: Partial<Mover> = {}): Mover => ({
  name,
  handler,
  kind,
  lane: false,
  placed: false,
  ...more,
});

export const PLAIN = 'plain';
export const ACCEPTED = 'accepted';
export const PLACED = 'placed';
export const LANE = 'lane';
export const LANE_ACCEPTED = 'lane-accepted';
/** Many leaders; has work in its own phase only. */
export const HERD = 'herd';
export const CALLBACKS = 'callbacks';
export const asksOf = (handler: string): string => `${handler}/asks`;

/** Those that have work all the time. */
export const STEADY: readonly Mover[] = [
  mover(PLAIN, PLAIN, 'call'),
  mover(ACCEPTED, ACCEPTED, 'call'),
  mover(asksOf(ACCEPTED), ACCEPTED, 'ask'),
  mover(PLACED, PLACED, 'call', { placed: true }),
  mover(LANE, LANE, 'call', { lane: true }),
  mover(LANE_ACCEPTED, LANE_ACCEPTED, 'call', { lane: true }),
  mover(asksOf(LANE_ACCEPTED), LANE_ACCEPTED, 'ask'),
  mover(CALLBACKS, PLAIN, 'callback'),
];
export const MOVERS: readonly Mover[] = [...STEADY, mover(HERD, HERD, 'call')];
