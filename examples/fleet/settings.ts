import type { NodeSettings } from '../../activities/nodes/settings';

/** Shorter than the default (10 s), so that much happens in two minutes. */
export const LEASE_MS = 3_000;

/** Blocked nodes are patiently waited for. */
export const nodeSettings = (leaseMs: number): Partial<NodeSettings> => ({
  leaseMs,
  maxLeaseMs: 30_000,
  shutdownLimitMs: leaseMs / 2,
  minimumHoldMs: 0,
  restartGraceMs: 10_000,
});
