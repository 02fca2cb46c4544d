import type { NodeRow } from '../../postgres/node';
import type { PoolOptions } from '../../postgres/pool';

/** What goes between a process's main thread and its heartbeat thread. */

export interface HeldChunk {
  id: string;
  nodeId: string;
  epoch: number;
}

export interface Hold {
  chunk: HeldChunk;
  /** Renewed for this long, at a third of it. */
  leaseMs: number;
  /** Longest that one item may take. */
  itemMs: number;
}

export interface Beat {
  row: NodeRow;
  everyMs: number;
  /** It gives signs of life while the main thread was silent for no longer than this. */
  silenceMs: number;
}

export type ToThread =
  | { kind: 'beat'; beat: Beat }
  | { kind: 'hold'; key: number; hold: Hold; memory: SharedArrayBuffer }
  | { kind: 'drop'; key: number }
  | { kind: 'stop' };

export type FromThread =
  /** Closed, or taken from it: what runs of it may be interrupted. */
  | { kind: 'lost'; key: number }
  /** The sign of life, or the renewal of a chunk, that failed, and will be tried again. */
  | { kind: 'failed'; what: string; message: string };

export interface ThreadData {
  pool: PoolOptions;
  signOfLife: SharedArrayBuffer;
}
