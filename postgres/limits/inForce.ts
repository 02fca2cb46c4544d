/**
 * Limits of target `t` of handler `h`: its own, where some were set, or the handler's. The columns
 * of the handler are what counts, whether it was defined or set (`registerHandler`, `setLimits`).
 */
export const CALLS_OF_TARGET = 'coalesce(t.per_target, h.per_target)';
export const WEIGHT_OF_TARGET = 'coalesce(t.weight_per_target, h.weight_per_target)';
