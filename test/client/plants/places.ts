import type { Plant, Run } from './plant';
import { seqOf } from './plant';

/** Where tasks are, what their ids name, and what numbers them. */
export const placePlants = (run: Run): Record<string, Plant[]> => ({
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
    {
      plant: () => run(`update queue set bytes = bytes + 1 where seq = ${seqOf('queued')}`),
      row: () => ({ id: 'queued' }),
    },
    { plant: () => run(`update queue set weight = 7 where seq = ${seqOf('queued')}`), row: () => ({ id: 'queued' }) },
  ],
  'what is delayed is a task, and the same of it': [
    { plant: () => run(`update delayed set key = 'else'`), row: () => ({ id: 'delayed' }) },
    { plant: () => run('update delayed set bytes = bytes + 1'), row: () => ({ id: 'delayed' }) },
    { plant: () => run('update delayed set weight = 7'), row: () => ({ id: 'delayed' }) },
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
        await run('drop index lane_batch_open'),
        await run('create index lane_batch_open on lane_batch (lane_id, seq)'),
      ],
      row: () => ({ index: 'lane_batch_open', unique: false }),
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
});
