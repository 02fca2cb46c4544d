import type { Plant, Run } from './plant';

/** Leases that end some time, wakes and calls that are answered in time. */
export const leasePlants = (run: Run): Record<string, Plant[]> => ({
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
});
