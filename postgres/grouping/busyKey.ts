import type { Queryable } from '../pool';

/** Frees the distinctBy keys of a batch whose members have ended. */
export const freeKeys = async (db: Queryable, batchIds: readonly number[]): Promise<void> => {
  await db.query({
    name: 'free-keys',
    text: `
delete from busy_key
where seq = any(array(
    select m.seq
    from batch b cross join lateral unnest(b.members) u (seq) join member m on m.seq = u.seq and m.batch_id = b.id
    where b.id = any($1::bigint[])))`,
    values: [batchIds],
  });
};
