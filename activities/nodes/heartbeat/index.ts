export { ChunkLease } from './chunkLease';
export type { HeldChunk } from './messages';
export { Heartbeat } from './heartbeat';
export type { SeenPartition } from './messages';
export { nowNs, toNs } from './shared';
