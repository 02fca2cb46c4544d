import type { Fence } from '../calls/mark';
import type { Queryable } from '../pool';

/** Statements about the checkpoint of a partition: how far its work has come. */

/** As it is stored: JSON text, and under which epoch it was written. */
export interface CheckpointRow {
  value: string;
  at: Date;
  epoch: number;
}

/**
 * Stores a checkpoint, if this node holds the partition under that epoch until it is written: as in
 * `markFenced`, a deposed node overwrites nothing. Returns when it was stored; null: refused.
 */
export const writeCheckpoint = async (
  db: Queryable,
  node: string,
  fence: Fence,
  value: string,
): Promise<Date | null> => {
  const { rows } = await db.query<{ at: Date }>({
    name: 'write-checkpoint',
    text: `
with held as materialized (
  select l.resource
  from lease l
  where l.resource = $1 and l.holder = $2 and l.epoch = $3 and l.expires_at > clock() for share)
update partition p set checkpoint = $4, checkpoint_at = clock(), checkpoint_epoch = $3
from held h
where p.resource = $1 and p.resource = h.resource
returning p.checkpoint_at as at`,
    values: [fence.id, node, fence.epoch, value],
  });
  return rows[0]?.at ?? null;
};

/**
 * Returns the last checkpoint of a partition, null if there is none, to the node that has it under
 * that epoch; `lost`: it is held by another node, or under a later epoch.
 */
export const readCheckpoint = async (
  db: Queryable,
  node: string,
  fence: Fence,
): Promise<CheckpointRow | null | 'lost'> => {
  const { rows } = await db.query<{ value: string | null; at: Date; epoch: number }>({
    name: 'read-checkpoint',
    text: `
select p.checkpoint::text as value, p.checkpoint_at as at, p.checkpoint_epoch as epoch
from partition p join lease l on l.resource = p.resource
where p.resource = $1 and l.holder = $2 and l.epoch = $3`,
    values: [fence.id, node, fence.epoch],
  });
  const [row] = rows;
  if (row === undefined) return 'lost';
  return row.value === null ? null : { ...row, value: row.value };
};
