import type { Plant, Run } from './plant';

/** What has to go on does: due times, dispatches, keys, notifications, and who looks at them. */
export const flowPlants = (run: Run): Record<string, Plant[]> => ({
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
  'a carried batch has a dispatch that lives': [
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
  'the recipient of an ended task is told': [
    { plant: () => run('delete from notification'), row: ({ done }) => ({ id: 'told', batch: done }) },
    {
      plant: () => run(`update task set recipient_id = 99 where id = 'dead'`),
      row: ({ done }) => ({ id: 'dead', batch: done, recipient: 99 }),
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
          `insert into execution
             (id, function_id, method, config, state, max_attempts, items, n_created, resume_at, woken_at, created_at)
           values ('11111111-2222-4333-8444-555555555555', 'f', 'm', '{}', 0, 0, 1, 1,
             clock() + interval '25 s', clock() - interval '61 s', clock())`,
        ),
      row: () => ({ execution: '11111111-2222-4333-8444-555555555555' }),
    },
    {
      plant: () =>
        run(
          `insert into execution
             (id, function_id, method, config, state, max_attempts, items, n_created, resume_at, created_at)
           values ('11111111-2222-4333-8444-555555555555', 'f', 'm', '{}', 0, 0, 1, 1,
             clock() - interval '61 s', clock())`,
        ),
      row: () => ({ execution: '11111111-2222-4333-8444-555555555555' }),
    },
  ],
  'a batch that a dispatch carries is called': [
    {
      plant: async ({ open }) => [
        await run(`update node set handlers = '{items}'`),
        await run(`update dispatch set started_at = clock() - interval '61 s'`),
        await run(`update batch set created_at = clock() - interval '61 s' where id = ${open}`),
      ],
      row: ({ open }) => ({ handler: 'items', batch: open }),
    },
  ],
  'a batch that a submitter was granted is called': [
    {
      plant: async ({ open }) => [
        await run(`update node set handlers = '{items}'`),
        await run(
          `insert into lane (service, handler_id, kind, approach, on_invalid) select 'po-1', id, 0, 1, 0 from handler`,
        ),
        await run(`insert into lane_state (lane_id, queuer_id) select id, 0 from lane`),
        await run(
          `update target t set lane_id = l.id from lane l, batch b where b.id = ${open} and t.id = b.target_id`,
        ),
        await run(
          `insert into lane_batch (batch_id, lane_id, target_id, seq, status, handler_id,
            granted_at, changed_at, weight, reads, writes)
          select b.id, l.id, b.target_id, 1, 3, l.handler_id, clock() - interval '61 s', clock(), 1, '{}', '{}'
          from lane l, batch b where b.id = ${open}`,
        ),
      ],
      row: ({ open }) => ({ handler: 'items', batch: open }),
    },
  ],
});
