export { ChunkLease } from './chunkLease';
export type { HeldChunk } from './messages';
export { Heartbeat } from './heartbeat';
export { nowNs } from './shared';
