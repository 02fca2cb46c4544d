import { withRetries } from '../../postgres/errors';
import {
  countSharedRateChange,
  lockSharedLimit,
  readSharedLimit,
  writeSharedLimit,
} from '../../postgres/limits/sharedSettings';
import type { SharedLimitFacts } from '../../postgres/limits/sharedSettings';
import type { Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { BEGIN_SHORT } from '../../postgres/shortTransaction';
import type { WokenLeader } from '../../postgres/grouping/ring';
import type { Changed } from '../../workflows/planning/limits/overrides';
import { changedLimits, inForce, unexpired } from '../../workflows/planning/limits/overrides';
import { repaced, repacings } from '../../workflows/planning/limits/repace';
import type { SharedOverrides, SharedValues } from '../../workflows/planning/limits/sharing';
import { storedOf } from './change';
import { dueUnderLimits } from './wakes';

/** What a change of a shared limit did. `handlers`: those that share it. */
export interface SharedLimitChanged {
  changed: Changed<SharedValues>[];
  overrides: SharedOverrides;
  defined: SharedValues;
  handlers: string[];
}

/** What decides the new settings, from those of now by the database's clock. */
export type DecideShared = (overrides: SharedOverrides, at: SharedLimitFacts) => SharedOverrides;

/**
 * Changes a limit that handlers share in one transaction, under the locks of these handlers and its
 * own: claims see all of it or nothing. The caller wakes afterwards. Null: there is none.
 */
export const changeSharedLimit = (pool: Pool, name: string, decide: DecideShared): Promise<SharedLimitChanged | null> =>
  withRetries(() =>
    inTransaction(
      pool,
      async (client) => {
        const facts = await lockSharedLimit(client, name);
        if (facts === null) return null;
        const { id, defined, nowMs, paces, handlers } = facts;
        const before = inForce(defined, facts.overrides);
        const overrides = decide(unexpired(facts.overrides, nowMs), facts);
        const after = inForce(defined, overrides);
        const changed = changedLimits(before, after);
        const isRepaced = changed.some(({ limit }) => limit === 'rate');
        await writeSharedLimit(client, id, {
          inForce: after,
          ...storedOf(overrides),
          paces: isRepaced ? repaced(paces, repacings(before.rate, after.rate, 'shared'), nowMs) : paces,
        });
        if (isRepaced) await countSharedRateChange(client, id);
        return { changed, overrides, defined, handlers };
      },
      BEGIN_SHORT,
    ),
  );

/** Makes what waits under a changed shared limit due anew, and returns the leaders to wake. */
export const dueUnderSharedLimit = async (pool: Pool, name: string): Promise<WokenLeader[]> => {
  const { handlers = [] } = (await readSharedLimit(pool, name)) ?? {};
  const woken: WokenLeader[] = [];
  for (const handler of handlers) woken.push(...(await dueUnderLimits(pool, handler, null)).leaders);
  return woken;
};
