import type { NodeSettings } from '../../activities/nodeSettings';

/** Shorter than the defaults, so that much happens in two minutes; blocked nodes are patiently waited for. */
export const NODES: Partial<NodeSettings> = {
  leaseMs: 3_000,
  maxLeaseMs: 30_000,
  shutdownLimitMs: 1_500,
  minimumHoldMs: 0,
  restartGraceMs: 10_000,
};
