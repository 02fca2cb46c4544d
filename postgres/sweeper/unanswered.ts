import { INSTALLATION } from '../installation';
import type { Queryable } from '../pool';

/** A leader or queuer that was woken, and has taken no turn since. */
export interface Unanswered {
  kind: 'leader' | 'queuer';
  id: number;
  /** Null: a queuer. */
  handler: string | null;
  name: string | null;
  /** Time since the wake. */
  ms: number;
  /** Run that took the last turn. */
  runId: string | null;
  /** Name of this store's installation. */
  installation: string;
}

/**
 * Returns leaders and queuers whose wake is older than `olderThanMs`, the oldest first: at most
 * `limit` of each handler's leaders and of the queuers, so that many of one handler hide no other.
 * A renewed lease does not hide them.
 */
export const readUnanswered = async (db: Queryable, olderThanMs: number, limit: number): Promise<Unanswered[]> => {
  const { rows } = await db.query<Unanswered>({
    name: 'read-unanswered',
    text: `
select r.kind, r.id, r.handler, r.name, (extract(epoch from clock() - r.woken_at) * 1000)::float8 as ms,
  r.holder as "runId", ${INSTALLATION} as installation
from (
  select x.*, row_number() over (partition by x.handler order by x.woken_at) as place
  from (
    select 'leader' as kind, l.id, h.name as handler, l.name, l.woken_at, l.holder
    from leader l join handler h on h.id = l.handler_id
    where l.state = 1 /* working */
    union all select 'queuer', q.id, null, null, q.woken_at, q.holder
    from queuer q
    where q.state = 1 /* working */) x
  where x.woken_at < clock() - $1 * interval '1 ms') r
where r.place <= $2
order by r.woken_at`,
    values: [olderThanMs, limit],
  });
  return rows;
};

/** A workflow that may wait for an activity without end. */
export interface Holding {
  kind: 'leader' | 'queuer' | 'execution';
  /** Number of a leader or queuer. */
  id: number;
  /** Null: a queuer or execution. */
  handler: string | null;
  /** Name of a leader, id of an execution; null: a queuer. */
  name: string | null;
  installation: string;
}

/**
 * Rounds of an execution among whose chunks those are looked for that no node took: each was found
 * many rounds before.
 */
const ROUNDS = 100;

/** A dispatch gives a sign of life each second; one that gave none for so long may be lost. */
const QUIET_MS = 5_000;
/** A chunk that no node took for so long may be lost: most nodes take theirs at once. */
const UNTAKEN_MS = 10_000;

/**
 * Returns queuers that have not ended, whose submitters without a sign of life are forgotten;
 * leaders whose dispatch gives none, the longest silent first, at most `limit` of each handler; and
 * executions of which a chunk is past its lease, or is taken by no node. Most of their activities
 * wait for a worker, or end soon: they are looked at early, since what the server forgot is timed
 * from the first look.
 */
export const readHolding = async (db: Queryable, limit: number): Promise<Holding[]> => {
  const { rows } = await db.query<Holding>({
    name: 'read-holding',
    text: `
select 'queuer' as kind, q.id::int as id, null::text as handler, null::text as name, ${INSTALLATION} as installation
from queuer q
where q.state <> 0 /* idle */
union all
select 'leader', x.id, h.name, x.name, ${INSTALLATION}
from (
  select l.id, l.handler_id, l.name, row_number() over (partition by l.handler_id order by min(d.seen_at)) as place
  from dispatch d join leader l on l.id = d.leader_id
  where l.state <> 0 /* idle */ and d.seen_at < clock() - interval '${QUIET_MS} ms'
  group by l.id) x join handler h on h.id = x.handler_id
where x.place <= $1
union all (
  select 'execution', 0, null, e.id::text, ${INSTALLATION}
  from execution e
  where e.state in (0 /* created */, 1 /* in progress */) and (
    e.id in (
      select c.execution_id
      from chunk c
      where c.state = 1 /* taken */ and c.expires_at < clock())
    or exists (
      select from chunk c
      where c.execution_id = e.id and c.round > e.round - ${ROUNDS} and c.state = 0 /* ready */
        and c.created_at < clock() - interval '${UNTAKEN_MS} ms'))
  order by e.id limit $1)`,
    values: [limit],
  });
  return rows;
};

/** Wakes of leaders and queuers that no turn has answered yet. */
export interface Wakes {
  kind: 'leader' | 'queuer';
  /** Those older than the limit. */
  late: number;
  /** Age of the oldest; 0: there is none. */
  oldestMs: number;
}

export const readWakes = async (db: Queryable, olderThanMs: number): Promise<Wakes[]> => {
  const { rows } = await db.query<Wakes>({
    name: 'read-wakes',
    text: `
select k.kind, count(*) filter (where x.woken_at < clock() - $1 * interval '1 ms')::float8 as late,
  coalesce(greatest(0, extract(epoch from clock() - min(x.woken_at)) * 1000), 0)::float8 as "oldestMs"
from unnest(array['leader', 'queuer']) k (kind) left join (
  select 'leader' as kind, woken_at
  from leader
  where state = 1 /* working */ and woken_at is not null
  union all select 'queuer', woken_at
  from queuer
  where state = 1 /* working */ and woken_at is not null) x on x.kind = k.kind
group by 1`,
    values: [olderThanMs],
  });
  return rows;
};
