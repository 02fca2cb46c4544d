/**
 * What `verify` finds: for each invariant of tasks, batches and leaders how it is broken by hand.
 */

/** Batches of the store of the test. */
export interface Ids {
  open: number;
  parked: number;
  done: number;
  child: number;
}

const seqOf = (id: string): string => `(select seq from task where id = '${id}')`;

interface Plant {
  plant: (ids: Ids) => Promise<unknown>;
  /** What one of the rows that are found says. */
  row: (ids: Ids) => object;
}

/** For each invariant: how it is broken by hand, and what one of its rows then says. */
export const plantsOf = (run: (text: string) => Promise<void>): Record<string, Plant[]> => {
  const drop = (table: string): Promise<void> =>
    run(`do $$ declare c text; begin for c in select conname from pg_constraint where conrelid = '${table}'::regclass and contype = 'c'
    loop execute 'alter table ${table} drop constraint ' || quote_ident(c); end loop; end $$`);
  return {
    'a task is in exactly one place': [
      {
        plant: () => run(`delete from queue where seq = ${seqOf('queued')}`),
        row: () => ({ id: 'queued', places: [] }),
      },
      {
        plant: () =>
          run(
            `insert into queue (target_id, seq, ready_at, bytes) select target_id, seq, clock(), 1 from task where id = 'open1'`,
          ),
        row: () => ({ id: 'open1', places: ['member', 'queue'] }),
      },
      {
        plant: () =>
          run(
            `insert into outcome (seq, target_id, state, attempts, at) select seq, target_id, 5, 0, clock() from task where id = 'delayed'`,
          ),
        row: () => ({ id: 'delayed', places: ['delayed', 'outcome'] }),
      },
    ],
    'what is queued is a task, and the same of it': [
      { plant: () => run(`delete from task where id = 'queued'`), row: () => ({ id: null, targetOfTask: null }) },
      {
        plant: () => run(`update queue set priority = 3 where seq = ${seqOf('queued')}`),
        row: () => ({ id: 'queued' }),
      },
    ],
    'what is delayed is a task, and the same of it': [
      { plant: () => run(`update delayed set key = 'else'`), row: () => ({ id: 'delayed' }) },
      { plant: () => run(`delete from task where id = 'delayed'`), row: () => ({ id: null }) },
    ],
    'what waits in a lane is a task of its target': [
      {
        plant: () =>
          run(
            `insert into lane_queue (lane_id, seq, target_id, ready_at, bytes) select 1, seq, target_id + 1, clock(), 1 from task where id = 'queued'`,
          ),
        row: () => ({ id: 'queued' }),
      },
    ],
    'a member is a task': [
      { plant: () => run(`delete from task where id = 'done1'`), row: ({ done }) => ({ batch: done }) },
    ],
    'an outcome is of a task of its target': [
      {
        plant: () => run(`update outcome set target_id = (select id from target where key = 'no')`),
        row: () => ({ id: 'dead' }),
      },
      { plant: () => run(`delete from task where id = 'dead'`), row: () => ({ id: null }) },
    ],
    'an id is of one task': [
      {
        plant: async () => [
          await run('drop index task_id'),
          await run(
            `insert into task (seq, created_at, target_id, bytes, id, payload) select 77, clock(), target_id, 1, id, '{}' from task where id = 'done1'`,
          ),
        ],
        row: () => ({ id: 'done1', seqs: [77, expect.any(Number) as number] }),
      },
    ],
    'the unique indexes are there and valid': [
      { plant: () => run('drop index task_id'), row: () => ({ index: 'task_id', valid: null }) },
      {
        plant: () => run(`update pg_index set indisvalid = false where indexrelid = 'member_pkey'::regclass`),
        row: () => ({ index: 'member_pkey', valid: false }),
      },
      {
        plant: async () => [
          await run('drop index submission_open'),
          await run('create index submission_open on submission (lane_id, seq)'),
        ],
        row: () => ({ index: 'submission_open', unique: false }),
      },
    ],
    // RESTART and not `setval`: it is rolled back with the rest.
    'a sequence is not behind its table': [
      { plant: () => run('alter sequence submit_seq restart'), row: () => ({ sequence: 'submit_seq', at: 0 }) },
      {
        plant: () => run('alter sequence batch_id_seq restart'),
        row: ({ child }) => ({ sequence: 'batch_id_seq', at: 0, highest: child }),
      },
      {
        plant: () => run('alter sequence target_id_seq restart'),
        row: () => ({ sequence: 'target_id_seq', highest: 2 }),
      },
    ],
    'a leader holds no lease until long after it looks again': [
      {
        plant: () => run(`update leader set expires_at = clock() + interval '3 years'`),
        row: () => ({ handler: 'items', leader: '0' }),
      },
    ],
    'no lease is held until long from now': [
      {
        plant: () => run(`update queuer set state = 1, expires_at = clock() + interval '3 years'`),
        row: () => ({ of: 'queuer', what: '0' }),
      },
      {
        plant: () =>
          run(
            `insert into lease (resource, holder, acquired_at, expires_at) values ('sweeper', 'n1', clock(), clock() + interval '3 years')`,
          ),
        row: () => ({ of: 'lease', what: 'sweeper', holder: 'n1' }),
      },
      {
        plant: () =>
          run(
            `insert into submitter (queuer_id, epoch, slots, node, started_at, expires_at) values (0, 1, 1, 'n1', clock(), clock() + interval '3 years')`,
          ),
        row: () => ({ of: 'submitter' }),
      },
      {
        plant: () => run(`update node set seen_at = clock() + interval '3 years'`),
        row: () => ({ of: 'node', what: 'n1' }),
      },
    ],
    'no call may take until long from now': [
      {
        plant: ({ open }) =>
          run(
            `update batch set attempt = 1, started_at = clock(), attempt_by = 'n1', attempt_until = clock() + interval '3 years' where id = ${open}`,
          ),
        row: ({ open }) => ({ batch: open, node: 'n1' }),
      },
    ],
    'a woken leader takes a turn': [
      {
        // As it is while the sweeper wakes it again and again.
        plant: () =>
          run(
            `update leader set state = 1, wake_at = null, holder = 'run-7', woken_at = clock() - interval '31 s', expires_at = clock() + interval '10 s'`,
          ),
        row: () => ({ handler: 'items', leader: '0', run: 'run-7' }),
      },
    ],
    'a call is concluded after its deadline': [
      {
        plant: ({ open }) =>
          run(
            `update batch set attempt = 1, started_at = clock(), attempt_by = 'n1', attempt_until = clock() - interval '46 s' where id = ${open}`,
          ),
        row: ({ open }) => ({ batch: open, node: 'n1' }),
      },
    ],
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
    'a leader leads targets of its own handler': [
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
    ],
    'a ready task makes its target due': [
      {
        plant: () => run(`update target set due_at = null where key = 'se'`),
        row: () => ({ handler: 'items', target: 'se' }),
      },
      {
        plant: () => run(`update target set due_at = clock() + interval '1 day' where key = 'se'`),
        row: () => ({ target: 'se', waits: 'queue' }),
      },
    ],
    'a delayed task makes its target due': [
      { plant: () => run(`update target set due_at = null where key = 'no'`), row: () => ({ target: 'no' }) },
      { plant: () => run(`update delayed set not_before = clock()`), row: () => ({ target: 'no', waits: 'delayed' }) },
    ],
    'a waiting batch makes its target due': [
      {
        plant: ({ open }) => run(`update batch set dispatch = null where id = ${open}`),
        row: ({ open }) => ({ target: 'se', batch: open }),
      },
    ],
    'a due target has a leader that looks in time': [
      {
        plant: async () => [
          await run(`update target set due_at = clock() - interval '6 s' where key = 'no'`),
          await run(`update leader set state = 0, wake_at = null, expires_at = null`),
        ],
        row: () => ({ target: 'no', leader: '0', state: 0 }),
      },
      {
        plant: async () => [
          await run(`update target set due_at = clock() - interval '6 s' where key = 'no'`),
          await run(`update leader set expires_at = clock() - interval '31 s'`),
        ],
        row: () => ({ target: 'no', state: 1 }),
      },
      {
        plant: async () => [
          await run(`update target set due_at = clock() - interval '6 s' where key = 'no'`),
          await run(`update leader set state = 2, wake_at = clock() + interval '1 min'`),
        ],
        row: () => ({ target: 'no', state: 2 }),
      },
    ],
    'a busy target has something in flight': [
      {
        plant: async () => [
          await run(`update target set busy = true where key = 'no'`),
          await run(`update leader set state = 0, wake_at = null, expires_at = null`),
        ],
        row: () => ({ target: 'no' }),
      },
    ],
    'a carried batch has a submission that lives': [
      {
        plant: () => run(`update leader set state = 0, wake_at = null, expires_at = null`),
        row: ({ open }) => ({ batch: open, state: 0 }),
      },
      {
        plant: async () => [
          await run('delete from dispatch'),
          await run(`update leader set expires_at = clock() - interval '31 s'`),
        ],
        row: ({ open }) => ({ batch: open, dispatch: 1, state: 1 }),
      },
    ],
    'an accepted batch is asked about': [
      {
        plant: ({ open }) => run(`update batch set reference = 'r', dispatch = null where id = ${open}`),
        row: ({ open }) => ({ batch: open, reference: 'r' }),
      },
    ],
    'a refused half has an open other half': [
      {
        plant: ({ open, done }) =>
          run(`update batch set refused = true, depth = 1, parent_id = ${done} where id = ${open}`),
        row: ({ open }) => ({ batch: open }),
      },
    ],
    'a distinctBy key is held by a live task': [
      {
        plant: () =>
          run(`insert into busy_key (target_id, key, seq) select target_id, key, seq from task where id = 'done1'`),
        row: () => ({ key: 'own done1' }),
      },
      {
        plant: () => run(`insert into busy_key (target_id, key, seq) select id, 'k', 999 from target where key = 'se'`),
        row: () => ({ key: 'k', seq: 999 }),
      },
    ],
    'a live task holds its distinctBy key': [
      {
        plant: () => run(`delete from busy_key where key = 'own open1'`),
        row: ({ open }) => ({ id: 'open1', batch: open }),
      },
      {
        plant: () => run(`update busy_key set seq = 1 where key = 'own parked'`),
        row: ({ parked }) => ({ id: 'parked', batch: parked }),
      },
    ],
    'the initiator of an ended task is told': [
      { plant: () => run('delete from notification'), row: ({ done }) => ({ id: 'told', batch: done }) },
      {
        plant: () => run(`update task set initiator_id = 99 where id = 'dead'`),
        row: ({ done }) => ({ id: 'dead', batch: done, initiator: 99 }),
      },
    ],
    'a notification is of a batch in the store': [
      { plant: () => run('update notification set batch_id = 999'), row: () => ({ batch: 999 }) },
    ],
    'a notification is delivered, given up, or due some time': [
      { plant: () => run('update notification set next_at = null'), row: ({ done }) => ({ batch: done }) },
    ],
    'a monitor with overdue batches looks': [
      {
        plant: async ({ open }) => [
          await run(`update node set handlers = '{items}'`),
          await run(
            `update batch set reference = 'r', dispatch = null, poll_at = clock() - interval '61 s' where id = ${open}`,
          ),
        ],
        row: () => ({ handler: 'items' }),
      },
      {
        plant: async ({ open }) => [
          await run(`update node set handlers = '{items}'`),
          await run(
            `insert into cancellation (batch_id, handler_id, reference, why, next_at, requested_at) select ${open}, id, 'r', 0, clock() - interval '61 s', clock() from handler`,
          ),
        ],
        row: () => ({ handler: 'items' }),
      },
    ],
    'a notifier with overdue notifications looks': [
      {
        plant: () => run(`update notification set next_at = clock() - interval '61 s'`),
        row: () => ({ notification: expect.any(Number) as number }),
      },
    ],
    'a partition that a node can hold is given to one in time': [
      {
        plant: async () => [
          await run(`update node set handlers = '{items}'`),
          await run(
            `insert into lease (resource, holder, epoch, acquired_at, expires_at) values ('partition/items/0', null, 0, clock(), clock() - interval '61 s')`,
          ),
          await run(`insert into partition (resource, handler_id, no) select 'partition/items/0', id, 0 from handler`),
        ],
        row: () => ({ handler: 'items', partition: 'partition/items/0' }),
      },
      {
        // Asked back long ago from a node that keeps it, and no round since.
        plant: async () => [
          await run(`update node set handlers = '{items}'`),
          await run(
            `insert into lease (resource, holder, epoch, acquired_at, expires_at, revoked_at) values ('partition/items/0', 'n1', 1, clock(), clock() + interval '10 s', clock() - interval '81 s')`,
          ),
          await run(`insert into partition (resource, handler_id, no) select 'partition/items/0', id, 0 from handler`),
        ],
        row: () => ({ handler: 'items' }),
      },
    ],
    'a woken execution takes a turn': [
      {
        // As it is while the sweeper wakes it again and again.
        plant: () =>
          run(
            `insert into execution (id, function_id, method, config, state, max_attempts, items, n_created, resume_at, woken_at, created_at) values ('11111111-2222-4333-8444-555555555555', 'f', 'm', '{}', 0, 0, 1, 1, clock() + interval '25 s', clock() - interval '61 s', clock())`,
          ),
        row: () => ({ execution: '11111111-2222-4333-8444-555555555555' }),
      },
      {
        plant: () =>
          run(
            `insert into execution (id, function_id, method, config, state, max_attempts, items, n_created, resume_at, created_at) values ('11111111-2222-4333-8444-555555555555', 'f', 'm', '{}', 0, 0, 1, 1, clock() - interval '61 s', clock())`,
          ),
        row: () => ({ execution: '11111111-2222-4333-8444-555555555555' }),
      },
    ],
  };
};
