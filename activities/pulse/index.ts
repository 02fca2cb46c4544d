export { ChunkLease } from './chunkLease';
export type { HeldChunk } from './messages';
export { Pulse } from './pulse';
export { nowNs } from './shared';
