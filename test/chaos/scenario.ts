/**
 * What the harness runs and kills: which processes, and how it sees in the store what they have to
 * do.
 */
export interface Scenario {
  /** Compiled files, from this folder. */
  worker: string;
  submitter: string;
  downstream: string;
  /** The submitters' and the workers' own. */
  settings?: unknown;
  /** `n`: what is in flight now. */
  liveSql: string;
  /** `n`: what waits for the leader or queuer $1. */
  waitingSql: string;
  /** `n`: all that is not at its end. */
  openSql: string;
  /** What that is, a JSON text a row: for people, when it does not come to its end. */
  leftSql: string;
}

/** Leaders that group tasks. */
export const GROUPING: Scenario = {
  worker: 'processes/worker.js',
  submitter: 'processes/submitter.js',
  downstream: 'downstream.js',
  liveSql: 'select coalesce(sum(n - n_left), 0)::int as n from batch where state = 1',
  waitingSql: 'select count(*)::int as n from queue q join target t on t.id = q.target_id where t.leader_id = $1',
  openSql: `
select ((select count(*) from queue) + (select count(*) from delayed) + (select count(*) from batch where state = 1)
  + (select count(*) from leader where state <> 0))::int as n`,
  leftSql: `
select json_build_object('leader', l)::text as row from leader l where l.state <> 0
union all select json_build_object('batch', b)::text from (
  select id, target_id, leader_id, n, n_left, attempt, attempt_until, dispatch, retry_at, reference, refused, error
  from batch where state = 1 order by id limit 20) b
union all select json_build_object('queue', q)::text from (select target_id, count(*), min(ready_at) from queue group by 1 limit 20) q
union all select json_build_object('now', clock())::text`,
};

export interface LaneSettings {
  lanes: number;
  /** Of each handler; 0: no affinity. */
  partitions: number;
}

/** The queuer over serial lanes. */
export const LANES = (lanes: number, partitions: number): Scenario => ({
  worker: 'queuer/worker.js',
  submitter: 'queuer/submitter.js',
  downstream: 'queuer/downstream.js',
  settings: { lanes, partitions } satisfies LaneSettings,
  liveSql: 'select count(*)::int as n from lane_batch where status in (3, 4, 5)',
  waitingSql:
    'select count(*)::int as n from lane_batch s join lane l on l.id = s.lane_id where l.queuer_id = $1 and s.status < 10',
  openSql: `
select ((select count(*) from lane_batch where status < 10) + (select count(*) from batch where state = 1) + (select count(*) from submitter)
  + (select count(*) from queuer where state <> 0))::int as n`,
  leftSql: `
select json_build_object('queuer', q)::text as row from queuer q where q.state <> 0
union all select json_build_object('laneBatch', s)::text from (select * from lane_batch where status < 10 order by batch_id limit 20) s
union all select json_build_object('submitter', s)::text from (select * from submitter limit 20) s
union all select json_build_object('now', clock())::text`,
});
