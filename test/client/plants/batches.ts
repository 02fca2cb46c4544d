import type { Plant, Run } from './plant';
import { seqOf } from './plant';

/** Tasks, the batches that they are in, and the leaders of those. */
export const batchPlants = (run: Run): Record<string, Plant[]> => {
  const drop = (table: string): Promise<void> =>
    run(`do $$ declare c text; begin for c in select conname from pg_constraint where conrelid = '${table}'::regclass and contype = 'c'
    loop execute 'alter table ${table} drop constraint ' || quote_ident(c); end loop; end $$`);
  return {
    'a task has a target': [
      {
        plant: () => run(`update task set target_id = 999 where id = 'queued'`),
        row: () => ({ id: 'queued', targetId: 999 }),
      },
    ],
    'accepted tasks are the sum of the states': [
      {
        plant: () => run(`delete from queue where seq = ${seqOf('queued')}`),
        row: () => ({ handler: 'items', accepted: 10, counted: 9 }),
      },
      {
        plant: ({ done }) => run(`update batch set n_left = 1 where id = ${done}`),
        row: () => ({ handler: 'items', accepted: 10, counted: 11 }),
      },
    ],
    'a batch has the members that have not left': [
      {
        plant: ({ done }) => run(`update batch set n_left = 1 where id = ${done}`),
        row: ({ done }) => ({ batch: done, n: 5, left: 1, members: 3 }),
      },
      {
        plant: () => run(`delete from member where seq = ${seqOf('open2')}`),
        row: ({ open }) => ({ batch: open, members: 1 }),
      },
    ],
    'a member is in the batch that it names': [
      {
        plant: () => run(`update member set batch_id = 999 where seq = ${seqOf('open1')}`),
        row: () => ({ batch: 999 }),
      },
      {
        plant: ({ parked }) => run(`update member set batch_id = ${parked} where seq = ${seqOf('open1')}`),
        row: ({ parked }) => ({ batch: parked }),
      },
    ],
    'a task is in one open batch': [
      {
        plant: ({ open }) =>
          run(`insert into batch (target_id, leader_id, epoch, turn, reason, n, members, bytes, weight, created_at)
          select target_id, leader_id, 1, 2, 3, 1, members[1:1], 1, 1, clock() from batch where id = ${open}`),
        row: ({ open }) => ({ batches: [open, expect.any(Number) as number] }),
      },
    ],
    'the members of a fresh batch were not tried before': [
      {
        plant: async ({ open }) => [
          await run(`update batch set fresh = true where id = ${open}`),
          await run(`update member set attempts = 1 where seq = ${seqOf('open1')}`),
        ],
        row: ({ open }) => ({ batch: open, attempts: 1 }),
      },
    ],
    'members share the target of their batch': [
      {
        plant: () => run(`update task set target_id = (select id from target where key = 'no') where id = 'open2'`),
        row: ({ open }) => ({ id: 'open2', batch: open }),
      },
    ],
    'the state of a batch agrees with its times and members': [
      {
        plant: async ({ done }) => [
          await drop('batch'),
          await run(`update batch set finished_at = null where id = ${done}`),
        ],
        row: ({ done }) => ({ batch: done, finishedAt: null }),
      },
      {
        plant: async ({ open }) => [
          await drop('batch'),
          await run(`update batch set state = 7, finished_at = clock() where id = ${open}`),
        ],
        row: ({ open }) => ({ batch: open, state: 7 }),
      },
      {
        plant: ({ open }) => run(`update batch set n_left = 1 where id = ${open}`),
        row: ({ open }) => ({ batch: open, state: 1, left: 1 }),
      },
      {
        plant: ({ done }) => run(`update batch set n_left = n where id = ${done}`),
        row: ({ done }) => ({ batch: done, state: 4, left: 5 }),
      },
    ],
    'attempts are at least those that count': [
      {
        plant: ({ done }) => run(`update batch set counted = 2 where id = ${done}`),
        row: ({ done }) => ({ batch: done, attempts: 1, counted: 2 }),
      },
      {
        plant: ({ done }) => run(`update batch set started_at = null where id = ${done}`),
        row: ({ done }) => ({ batch: done, startedAt: null }),
      },
      {
        plant: ({ open }) => run(`update batch set attempt_until = clock() where id = ${open}`),
        row: ({ open }) => ({ batch: open, attempts: 0 }),
      },
    ],
    'a part of a batch holds members of it': [
      {
        plant: ({ child, open }) => run(`update batch set parent_id = ${child} where id = ${open}`),
        row: ({ child, open }) => ({ batch: open, parent: child, strangers: 2 }),
      },
      { plant: ({ done }) => run(`delete from batch where id = ${done}`), row: ({ done }) => ({ parent: done }) },
    ],
    'result pages lie within their batch': [
      { plant: () => run(`update result_page set last = 5`), row: ({ done }) => ({ batch: done, last: 5, n: 5 }) },
      { plant: () => run(`update result_page set attempt = 2`), row: ({ done }) => ({ batch: done, attempt: 2 }) },
      {
        plant: () => run(`update result_page set results = '[[0, 1], [1, 2]]'`),
        row: ({ done }) => ({ batch: done, first: 0, last: 0 }),
      },
      { plant: () => run(`update result_page set batch_id = 999`), row: () => ({ batch: 999, n: null }) },
    ],
    'a batch belongs to the leader of its target': [
      {
        plant: async () => [
          await run(`insert into leader (handler_id, name) select id, 'other' from handler`),
          await run(`update batch set leader_id = (select id from leader where name = 'other') where state = 3`),
        ],
        row: ({ parked }) => ({ batch: parked }),
      },
    ],
    'a leader leads targets of its handler only': [
      {
        plant: async () => [
          await run(
            `insert into handler select (json_populate_record(h, '{"id": 99, "name": "other"}')).* from handler h`.replace(
              'insert into handler select',
              'insert into handler overriding system value select',
            ),
          ),
          await run('update leader set handler_id = 99'),
        ],
        row: () => ({ key: 'se', handlerOfLeader: 99 }),
      },
      {
        plant: () => run(`update target set leader_id = 99 where key = 'se'`),
        row: () => ({ key: 'se', handlerOfLeader: null }),
      },
    ],
  };
};
