import type { Pool } from '../../../postgres/pool';
import { statusName } from '../../../workflows/planning/lanes/statuses';
import { mayBecome } from '../../planning/lanes/model/transitions';

/**
 * Records from now on each change of the status of a lane's batch, whichever statement makes it;
 * `expectLanesPermitted` judges them. Looked at when a transaction commits: a batch that is split
 * is marked, and deleted once its parts are in its place.
 */
export const recordLaneMoves = async (pool: Pool): Promise<void> => {
  await pool.query(`
create table lane_moved (was smallint, became smallint, example bigint not null, primary key (was, became));
create function record_lane_move() returns trigger language plpgsql set search_path from current as $$
begin
  insert into lane_moved select old.status, new.status, new.batch_id
  where exists (select from lane_batch where batch_id = new.batch_id)
  on conflict do nothing;
  return null;
end $$;
create constraint trigger record_lane_move after update of status on lane_batch
deferrable initially deferred for each row when (old.status <> new.status) execute function record_lane_move()`);
};

interface Move {
  was: number;
  became: number;
  example: number;
}

/**
 * Fails for a change that the table of the model does not allow, and unless there were these at
 * least: a recorder that sees nothing forbids nothing.
 */
export const expectLanesPermitted = async (pool: Pool, seen: readonly string[]): Promise<void> => {
  const { rows } = await pool.query<Move>('select * from lane_moved order by was, became');
  const named = ({ was, became }: Move): string => `${statusName(was)} -> ${statusName(became)}`;
  const forbidden = rows.filter(({ was, became }) => !mayBecome(statusName(was), statusName(became)));
  expect(forbidden.map((move) => `${named(move)}, e. g. batch ${move.example}`)).toEqual([]);
  expect(rows.map(named)).toEqual(expect.arrayContaining([...seen]));
};
