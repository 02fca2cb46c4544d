import type { Pool } from '../../postgres/pool';
import { reapRound } from '../../postgres/fanouts/reap';
import type { ReapCounts } from '../../workflows/contracts/fanout';
import { checkWhole } from '../arguments';

/** Options of `fanouts.reap`: what it expires and deletes. */
export interface ReapOptions {
  /** Expires open fan-outs after this many milliseconds without activity; default: none. */
  openIdleMs?: number;
  /**
   * Expires sealed, unfinished fan-outs after this many milliseconds without activity; default:
   * none.
   */
  sealedIdleMs?: number;
  /**
   * Deletes complete and expired fan-outs this many milliseconds after their end, once their event
   * is delivered; default: none.
   */
  keepEndedMs?: number;
}
export type { ReapCounts } from '../../workflows/contracts/fanout';

const LONGEST_MS = 100 * 365 * 86_400_000;

/** Expires and deletes in rounds, until nothing is left to do. */
export const reapFanouts = async (pool: Pool, options: ReapOptions): Promise<ReapCounts> => {
  const check = (field: keyof ReapOptions): number | null =>
    options[field] === undefined ? null : checkWhole(field, options[field], 0, LONGEST_MS);
  const intervals = {
    openIdleMs: check('openIdleMs'),
    sealedIdleMs: check('sealedIdleMs'),
    keepEndedMs: check('keepEndedMs'),
  };
  const sum: ReapCounts = {
    expiredOpen: 0,
    expiredSealed: 0,
    items: 0,
    told: 0,
    deletedSegments: 0,
    deletedFanouts: 0,
  };
  for (;;) {
    const { more, ...counts } = await reapRound(pool, intervals);
    for (const name of Object.keys(counts) as (keyof ReapCounts)[]) sum[name] += counts[name];
    if (!more) return sum;
  }
};
