import { SLOTS_TAKEN } from '../grouping/slots';
import type { Queryable } from '../pool';

export interface HandlerLimitsRow {
  handler: string;
  maxItems: number;
  maxBytes: number | null;
  maxWeight: number | null;
  minItems: number;
  lingerMs: number;
  quietMs: number | null;
  perTarget: number;
  perHandler: number;
  slots: number;
  allowed: number | null;
  maxAttemptMs: number;
  mostQueued: number | null;
}

/** Returns the settings of one handler, or of all, and the slots of calls that are taken. */
export const readHandlerLimits = async (db: Queryable, handler: string | null): Promise<HandlerLimitsRow[]> => {
  const { rows } = await db.query<HandlerLimitsRow>({
    name: 'read-handler-limits',
    text: `
select h.name as handler, h.max_items as "maxItems", h.max_bytes as "maxBytes", h.max_weight as "maxWeight",
  h.min_items as "minItems", h.linger_ms as "lingerMs", h.quiet_ms as "quietMs", h.per_target as "perTarget",
  h.per_handler as "perHandler", ${SLOTS_TAKEN} as slots, h.allowed, h.timeout_ms as "maxAttemptMs",
  h.queued_per_handler as "mostQueued"
from handler h
where $1::text is null or h.name = $1
order by h.name`,
    values: [handler],
  });
  return rows;
};
