import type { Pool } from '../../../postgres/pool';
import { batchStateName, taskStateName } from '../../../workflows/planning/states';
import { BATCH_AFTER, TASK_AFTER } from './permitted';

const NEW = -1;

/**
 * Where the state of a task is: its outcome, its batch, or neither. Looked at when a transaction
 * commits, so that what others can see counts, not the steps on the way.
 */
const TRIGGERS = `
create table was_task (seq bigint primary key, state smallint not null);
create table moved (
  what text, was smallint, became smallint, example text not null, primary key (what, was, became));

create function record_tasks(seqs bigint[]) returns void language plpgsql set search_path from current as $$
begin
  with looked as materialized (
    select s.seq, s.id, s.state, w.state as was
    from task_state s join target t on t.id = s.target_id and t.lane_id is null left join was_task w on w.seq = s.seq
    where s.seq = any(seqs) and s.state is distinct from w.state
    order by s.seq),
  kept as (
    insert into was_task select seq, state from looked
    on conflict (seq) do update set state = excluded.state)
  insert into moved select distinct on (was, state) 'task', coalesce(was, ${NEW}), state, id from looked
  on conflict do nothing;
end $$;

create function record_task() returns trigger language plpgsql set search_path from current as $$
begin
  perform record_tasks(array[case when tg_op = 'DELETE' then old.seq else new.seq end]);
  return null;
end $$;

create function record_batch() returns trigger language plpgsql set search_path from current as $$
begin
  insert into moved
  select 'batch', case when tg_op = 'INSERT' then ${NEW} else old.state end, new.state, new.id::text
  where tg_op = 'INSERT' or old.state <> new.state
  on conflict do nothing;
  return null;
end $$;

create function record_members() returns trigger language plpgsql set search_path from current as $$
begin
  perform record_tasks(array(select m.seq from member m where m.batch_id = new.id));
  return null;
end $$;

create constraint trigger record_task after insert on task
deferrable initially deferred for each row execute function record_task();
create constraint trigger record_task after insert or update or delete on member
deferrable initially deferred for each row execute function record_task();
create constraint trigger record_task after insert or update or delete on outcome
deferrable initially deferred for each row execute function record_task();
create constraint trigger record_members after update of state, attempt on batch
deferrable initially deferred for each row when (new.leader_id <> 0) execute function record_members();
create trigger record_batch after insert or update of state on batch
for each row when (new.leader_id <> 0) execute function record_batch();
`;

/**
 * Records from now on each change of the state of a task or a batch outside of lanes, whichever
 * statement makes it; `expectPermitted` judges them.
 */
export const recordMoves = async (pool: Pool): Promise<void> => {
  await pool.query(TRIGGERS);
};

interface Move {
  what: 'task' | 'batch';
  was: number;
  became: number;
  example: string;
}

const isPermitted = ({ what, was, became }: Move): boolean =>
  what === 'task'
    ? TASK_AFTER[was === NEW ? 'new' : taskStateName(was)].includes(taskStateName(became))
    : BATCH_AFTER[was === NEW ? 'new' : batchStateName(was)].includes(batchStateName(became));

const named = ({ what, was, became }: Move): string => {
  const nameOf = what === 'task' ? taskStateName : batchStateName;
  return `${what}: ${was === NEW ? 'new' : nameOf(was)} -> ${nameOf(became)}`;
};

/**
 * Fails for a change that the table does not permit, and unless there were these at least: a
 * recorder that sees nothing forbids nothing.
 */
export const expectPermitted = async (pool: Pool, seen: readonly string[] = []): Promise<void> => {
  const { rows } = await pool.query<Move>('select * from moved order by what, was, became');
  const forbidden = rows.filter((move) => !isPermitted(move)).map((move) => `${named(move)}, e. g. ${move.example}`);
  expect(forbidden).toEqual([]);
  expect(rows.map(named)).toEqual(expect.arrayContaining([...seen]));
};
