import type { Pool } from '../../../postgres/pool';

/** Halts the lane of this service at a batch, as a refusal for its content does. */
export const halt = (pool: Pool, service: string, batch: number): Promise<unknown> =>
  pool.query(
    `
with failed as (
  update batch set state = 5 /* failed */, error = 'no', finished_at = clock() where id = $1), invalid as (
  update lane_batch set status = 11 /* invalid */ where batch_id = $1)
update lane_state set halted_by = $1, halted_at = clock(), halt_reason = 'invalid: no'
where lane_id = (select id from lane where service = $2)`,
    [batch, service],
  );
